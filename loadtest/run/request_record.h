// What one request of a load test came to, as its client saw it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft {

// What the server itself says of a request in its answer: the `timings` object of llama.cpp's
// server and Weft, or the `metrics` object of vLLM.
struct ServerTimings {
  std::optional<double> queue_ms;
  std::optional<double> prefill_ms;
  std::optional<double> decode_ms;
};

struct RequestRecord {
  using Clock = std::chrono::steady_clock;

  // Tokens that came together: an event may hold several, one read may hold several events.
  // AnswerReader says how they are counted.
  struct Arrival {
    Clock::time_point time;
    int32_t token_count = 0;
  };

  int32_t request = 0;  // index into the plan
  int32_t profile = 0;

  // Why it failed; empty: it did not. A few words, the same for every failure of the kind ("http
  // 429", "timeout", "wrong output"); and what exactly was said of this one.
  std::string failure;
  std::string failure_detail;
  // It did to the server what its Behaviour says: no failure, and no success that is measured.
  bool hostile = false;

  // When it should have been sent: open loop, its time in the plan; closed loop, when its user was
  // free to. Latency is counted from here, so that a client or server that is late for it cannot
  // hide that (coordinated omission); counted from `sent`, it is the server's alone.
  Clock::time_point planned;
  Clock::time_point sent;         // just before its first byte, or its connection's
  Clock::time_point header;       // the answer's header was there; unset (epoch) if it never came
  Clock::time_point end;          // its last byte
  std::vector<Arrival> arrivals;  // of tokens; streams only
  int32_t http_status = 0;        // 0: no answer
  // Servers say what they like, and it is kept for every request.
  static constexpr size_t kMostNameBytes = 256;
  std::string finish_reason;
  std::string id;  // as the server calls the request: its X-Request-Id, else its answer's id

  std::optional<int64_t> prompt_tokens;  // as the server counts, if it does
  std::optional<int64_t> cached_tokens;
  int64_t output_tokens = 0;  // as the server counts; else the tokens that arrived
  int64_t text_count = 0;     // that have a vector or a score, where the endpoint makes such
  uint64_t output_hash = 0;   // of the whole text, or of all vectors or scores
  ServerTimings server;

  bool ok() const { return failure.empty() && !hostile; }
  void Fail(std::string kind, std::string detail) {
    constexpr size_t kMostDetailBytes = 1000;  // servers say what they like
    if (detail.size() > kMostDetailBytes) detail.resize(kMostDetailBytes);
    failure = std::move(kind);
    failure_detail = std::move(detail);
  }
};

}  // namespace weft
