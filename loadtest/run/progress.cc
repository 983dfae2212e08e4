#include "loadtest/run/progress.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::chrono::seconds kWindow(5);

}  // namespace

void Progress::AddFirstToken(Clock::time_point now, Clock::duration after_sending) {
  first_tokens_.emplace_back(now, std::chrono::duration<float, std::milli>(after_sending).count());
  DropOldFirstTokens(now);
}

void Progress::DropOldFirstTokens(Clock::time_point now) {
  while (!first_tokens_.empty() && first_tokens_.front().first < now - kWindow) {
    first_tokens_.pop_front();
  }
}

std::string Progress::Line(Clock::time_point now, int64_t planned, const RunCounters& counters) {
  DropOldFirstTokens(now);
  // The newest of the old ones stays: lines may come at longer intervals.
  while (token_counts_.size() > 1 && token_counts_[1].first <= now - kWindow) {
    token_counts_.pop_front();
  }
  std::string line = label_;
  if (!line.empty()) line += ": ";
  const auto out = std::back_inserter(line);
  fmt::format_to(out, "{}", counters.sent);
  if (planned > 0) fmt::format_to(out, "/{}", planned);
  fmt::format_to(out, " sent, {} running, {} done, {} failed", counters.sent - counters.done,
                 counters.done, counters.failed);
  if (!token_counts_.empty()) {
    const auto [since, count_then] = token_counts_.front();
    const double seconds = std::chrono::duration<double>(now - since).count();
    fmt::format_to(out, ", {:.1f} tokens/s",
                   static_cast<double>(counters.token_count - count_then) / seconds);
  }
  token_counts_.emplace_back(now, counters.token_count);
  if (!first_tokens_.empty()) {
    std::vector<float> times;
    for (const auto& sample : first_tokens_) times.push_back(sample.second);
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
    std::nth_element(times.begin(), middle, times.end());
    fmt::format_to(out, ", first token {:.1f} ms", *middle);
  }
  return line;
}

}  // namespace weft
