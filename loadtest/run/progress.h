// The line about a run that is going on.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

namespace weft {

// What a run has come to so far.
struct RunCounters {
  int64_t sent = 0;
  int64_t done = 0;  // failed or not
  int64_t failed = 0;
  int64_t token_count = 0;
};

// Keeps the last few seconds, of which medians are said; rates are of them, or since the last line.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Progress(std::string label) : label_(std::move(label)) {}

  void AddFirstToken(Clock::time_point now, Clock::duration after_sending);

  // `planned` requests in all; 0: that is not known.
  // "label: 120/200 sent, 8 running, 112 done, 0 failed, 431.0 tokens/s, first token 12.1 ms".
  std::string Line(Clock::time_point now, int64_t planned, const RunCounters& counters);

 private:
  void DropOldFirstTokens(Clock::time_point now);

  std::string label_;
  std::deque<std::pair<Clock::time_point, float>> first_tokens_;  // milliseconds
  std::deque<std::pair<Clock::time_point, int64_t>> token_counts_;
};

}  // namespace weft
