// What one request of a load test came to.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct RequestResult {
  using Clock = std::chrono::steady_clock;

  // Why it failed; empty: it succeeded. A few words, the same for every failure of the kind: "http
  // 429", "timeout".
  std::string failure;
  std::string failure_detail;

  Clock::time_point begin;                       // just before it was sent, or its connection made
  Clock::time_point end;                         // its last byte
  std::vector<Clock::time_point> text_arrivals;  // of the chunks that held text; streams only
  int64_t prompt_tokens = 0;                     // as the server counts, if it does
  int64_t output_tokens = 0;                     // as the server counts; else the chunks with text

  bool ok() const { return failure.empty(); }
};

}  // namespace weft
