// What GET /watch sends: first the last hour, then a sample a second, as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace weft {

// A second of the server. What has an end in it counts; a sample that came late covers more.
struct WatchSample {
  double time = 0;       // at its end, seconds since 1970
  int64_t running = 0;   // at its end: sequences
  int64_t waiting = 0;   // likewise
  int64_t requests = 0;  // POSTs answered
  int64_t refusals = 0;  // of these, by 429 or 503
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
  int64_t cache_queries = 0;  // tokens of prompts looked up in the prefix cache
  int64_t cache_hits = 0;     // and found
  int64_t steps = 0;
  double step_seconds = 0;     // of all of them together
  double longest_step = 0;     // seconds
  double kv_usage = 0;         // at its end: share of the KV blocks, where it is the largest
  int64_t resident_bytes = 0;  // at its end: of the process
  int64_t request_bytes = 0;   // at its end: what requests and connections hold
};

// A second of what one API key sent.
struct KeySample {
  double time = 0;       // as above
  int64_t requests = 0;  // POSTs answered
  int64_t refusals = 0;  // of these, by 429 or 503
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
};

// What does not change from second to second.
struct WatchFacts {
  double max_stall = 0;  // seconds, of --max-stall; 0: no model is loaded
  int64_t memory_limit_bytes = 0;
  int64_t request_limit_bytes = 0;
};

// The first event: a list a member of the samples, oldest first.
std::string HistoryJson(std::span<const WatchSample> samples, const WatchFacts& facts);
std::string HistoryJson(std::span<const KeySample> samples, const WatchFacts& facts);

// Each later one.
std::string ToJson(const WatchSample& sample);
std::string ToJson(const KeySample& sample);

}  // namespace weft
