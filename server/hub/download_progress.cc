#include "server/hub/download_progress.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>
#include <sys/ioctl.h>

#include "base/format_bytes.h"

namespace weft {
namespace {

constexpr std::chrono::milliseconds kBarInterval{200};
constexpr std::chrono::seconds kLeastBetweenLines{1};
constexpr std::chrono::seconds kMostBetweenLines{10};

size_t TerminalColumns() {
  constexpr size_t kUsual = 80;
  winsize size = {};
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return is_known ? size.ws_col : kUsual;
}

std::string DescribeTime(double seconds) {
  const auto whole = static_cast<int64_t>(std::min(seconds, 1e9));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

std::string DescribeProgress(const std::string& what, uint64_t done, uint64_t total,
                             double bytes_per_s) {
  std::string text = fmt::format("{}: {} of {} ({}%)", what, FormatBytes(done), FormatBytes(total),
                                 total == 0 ? 100 : done * 100 / total);
  if (bytes_per_s < 1) return text;
  const double left_s = static_cast<double>(total - std::min(done, total)) / bytes_per_s;
  return text + fmt::format(", {}/s, {} left", FormatBytes(static_cast<uint64_t>(bytes_per_s)),
                            DescribeTime(left_s));
}

std::string DrawBar(const std::string& text, uint64_t done, uint64_t total, size_t columns) {
  constexpr size_t kLeastCells = 8;
  constexpr size_t kMostCells = 24;
  constexpr size_t kFrame = 3;  // "[", "] "
  if (columns < kFrame + kLeastCells + text.size()) return text.substr(0, columns);
  const size_t cells = std::min(kMostCells, columns - kFrame - text.size());
  const auto full = total == 0 ? cells : static_cast<size_t>(done * cells / total);
  return fmt::format("[{:<{}}] {}", std::string(std::min(full, cells), '#'), cells, text);
}

DownloadProgress::DownloadProgress(uint64_t total, bool has_bar,
                                   std::function<void(const std::string&)> say)
    : total_(total), has_bar_(has_bar), say_(std::move(say)), shown_at_(Clock::now()) {}

void DownloadProgress::Begin(const std::string& file) { file_ = file; }

void DownloadProgress::Skip(uint64_t bytes) {
  done_ += bytes;
  shown_done_ += bytes;
}

void DownloadProgress::TakeBack(uint64_t bytes) {
  done_ -= std::min(bytes, done_);
  shown_done_ = std::min(shown_done_, done_);
}

void DownloadProgress::Add(uint64_t bytes, Clock::time_point now) {
  done_ += bytes;
  const auto since = now - shown_at_;
  const bool is_tenth = done_ - shown_done_ >= total_ / 10 && since >= kLeastBetweenLines;
  if (has_bar_ ? since >= kBarInterval : is_tenth || since >= kMostBetweenLines) Show(now);
}

void DownloadProgress::Show(Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - shown_at_).count();
  const double rate = static_cast<double>(done_ - shown_done_) / seconds;
  // What is shown five times a second would jump about.
  constexpr double kNewShare = 0.1;
  rate_ = rate_ > 0 && has_bar_ ? rate_ + kNewShare * (rate - rate_) : rate;
  shown_at_ = now;
  shown_done_ = done_;
  const std::string text =
      DescribeProgress(file_.substr(file_.rfind('/') + 1), done_, total_, rate_);
  if (!has_bar_) {
    say_(text);
    return;
  }
  fmt::print(stderr, "\r\x1b[K{}", DrawBar(text, done_, total_, TerminalColumns() - 1));
  std::fflush(stderr);
  is_shown_ = true;
}

void DownloadProgress::End() {
  if (!std::exchange(is_shown_, false)) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace weft
