// What a person sees of a download.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace weft {

// "model.gguf: 312.5 MiB of 769.6 MiB (40%), 24.1 MiB/s, 19 s left"
std::string DescribeProgress(const std::string& what, uint64_t done, uint64_t total,
                             double bytes_per_s);

// "[######      ] TEXT" in at most so many columns: a longer line could not be drawn over. Where
// there are too few for a bar, the text alone, cut if need be.
std::string DrawBar(const std::string& text, uint64_t done, uint64_t total, size_t columns);

// On a terminal a bar, drawn again where it stands; otherwise a line every ten seconds, or every
// tenth of the way where that takes longer than a second. Not thread-safe.
class DownloadProgress {
 public:
  using Clock = std::chrono::steady_clock;

  // `total`: bytes of all files. `say` gets the lines; with a bar it is drawn on stderr.
  DownloadProgress(uint64_t total, bool has_bar, std::function<void(const std::string&)> say);

  // What comes now is part of this file.
  void Begin(const std::string& file);
  // Bytes that were there already: they count, but not for the rate.
  void Skip(uint64_t bytes);
  void Add(uint64_t bytes, Clock::time_point now);
  // Bytes that turned out wrong, and come again.
  void TakeBack(uint64_t bytes);
  // Clears the bar, so that a line can follow.
  void End();

 private:
  void Show(Clock::time_point now);

  const uint64_t total_;
  const bool has_bar_;
  const std::function<void(const std::string&)> say_;
  std::string file_;
  uint64_t done_ = 0;
  double rate_ = 0;  // bytes a second, smoothed over some seconds
  bool is_shown_ = false;
  uint64_t shown_done_ = 0;
  Clock::time_point shown_at_;
};

}  // namespace weft
