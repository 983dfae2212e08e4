// How far a command is with its texts, on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

struct CorpusCounts {
  int64_t texts = 0;
  int64_t tokens = 0;  // that were computed
  int64_t cut_texts = 0;
  int64_t dropped_tokens = 0;  // of them
  uint64_t done = 0;           // of the input: bytes, or whatever the total is in

  // A text that is done.
  void Add(int64_t token_count, int64_t dropped_count);
};

// "12,000 texts, 1,500 texts/s, 24%, 25 s to go"; without `total` neither share nor time.
// `noun`: what is counted, as "texts".
std::string ProgressText(const CorpusCounts& counts, std::optional<uint64_t> total,
                         std::chrono::duration<double> elapsed, std::string_view noun = "texts");
// "100,000 texts of 2,345,678 tokens in 81.2 s: 1,231 texts/s"
std::string SummaryText(const CorpusCounts& counts, std::chrono::duration<double> elapsed,
                        std::string_view noun = "texts");
// "12 texts were too long: 345 of their tokens were dropped"; empty: none was.
std::string CutText(const CorpusCounts& counts);

// A line that is replaced, on a terminal; elsewhere one every ten seconds.
class CorpusProgress {
 public:
  // `noun` outlives it.
  CorpusProgress(bool is_quiet, std::optional<uint64_t> total, std::string_view noun = "texts");
  ~CorpusProgress() { Clear(); }
  CorpusProgress(const CorpusProgress&) = delete;
  CorpusProgress& operator=(const CorpusProgress&) = delete;

  // May be called for every text.
  void Show(const CorpusCounts& counts);
  // What it came to. Cut texts are told of even if it is quiet.
  void Finish(const CorpusCounts& counts);

 private:
  using Clock = std::chrono::steady_clock;

  void Clear();

  const bool is_quiet_;
  const bool is_terminal_;
  const std::optional<uint64_t> total_;
  const std::string_view noun_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
  bool has_line_ = false;
};

}  // namespace weft
