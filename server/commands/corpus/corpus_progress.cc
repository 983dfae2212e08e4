#include "server/commands/corpus/corpus_progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unistd.h>

#include <fmt/core.h>

namespace weft {
namespace {

// 1234567 as "1,234,567".
std::string Grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, ",");
  return text;
}

// Three digits or all before the point: "0.52", "12.3", "1,231".
std::string RateText(int64_t count, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(count) / seconds : 0;
  if (rate >= 100) return Grouped(std::llround(rate));
  return rate >= 10 ? fmt::format("{:.1f}", rate) : fmt::format("{:.2f}", rate);
}

// "48 s", "12 min", "3.5 h"
std::string TimeText(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

void CorpusCounts::Add(int64_t token_count, int64_t dropped_count) {
  ++texts;
  tokens += token_count;
  cut_texts += dropped_count > 0 ? 1 : 0;
  dropped_tokens += dropped_count;
}

std::string ProgressText(const CorpusCounts& counts, std::optional<uint64_t> total,
                         std::chrono::duration<double> elapsed, std::string_view noun) {
  std::string text = fmt::format("{0} {2}, {1} {2}/s", Grouped(counts.texts),
                                 RateText(counts.texts, elapsed.count()), noun);
  if (!total || *total == 0 || counts.done == 0) return text;
  // A file may grow while it is read.
  const double share =
      std::min(static_cast<double>(counts.done) / static_cast<double>(*total), 1.0);
  const double rest = elapsed.count() * (1 / share - 1);
  return text + fmt::format(", {:.0f}%, {} to go", std::floor(100 * share), TimeText(rest));
}

std::string SummaryText(const CorpusCounts& counts, std::chrono::duration<double> elapsed,
                        std::string_view noun) {
  return fmt::format("{0} {4} of {1} tokens in {2:.1f} s: {3} {4}/s", Grouped(counts.texts),
                     Grouped(counts.tokens), elapsed.count(),
                     RateText(counts.texts, elapsed.count()), noun);
}

std::string CutText(const CorpusCounts& counts) {
  if (counts.cut_texts == 0) return {};
  return fmt::format("{} of the texts were too long: {} of their tokens were dropped",
                     Grouped(counts.cut_texts), Grouped(counts.dropped_tokens));
}

CorpusProgress::CorpusProgress(bool is_quiet, std::optional<uint64_t> total, std::string_view noun)
    : is_quiet_(is_quiet), is_terminal_(isatty(STDERR_FILENO) == 1), total_(total), noun_(noun) {}

void CorpusProgress::Clear() {
  if (has_line_) fmt::print(stderr, "\r\033[K");
  has_line_ = false;
}

void CorpusProgress::Show(const CorpusCounts& counts) {
  constexpr std::chrono::milliseconds kOnTerminal{200};
  constexpr std::chrono::seconds kElsewhere{10};
  if (is_quiet_) return;
  const Clock::time_point now = Clock::now();
  if (now - shown_ < (is_terminal_ ? Clock::duration(kOnTerminal) : Clock::duration(kElsewhere)))
    return;
  shown_ = now;
  Clear();
  fmt::print(stderr, "{}{}", ProgressText(counts, total_, now - begin_, noun_),
             is_terminal_ ? "" : "\n");
  has_line_ = is_terminal_;
  std::fflush(stderr);
}

void CorpusProgress::Finish(const CorpusCounts& counts) {
  Clear();
  if (!is_quiet_) fmt::print(stderr, "{}\n", SummaryText(counts, Clock::now() - begin_, noun_));
  if (const std::string cut = CutText(counts); !cut.empty()) fmt::print(stderr, "{}\n", cut);
}

}  // namespace weft
