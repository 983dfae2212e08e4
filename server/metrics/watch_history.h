// What the server did in each second of the last hour, for those who watch it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "proto/watch/watch_events.h"

namespace weft {

// What all engines together have done since the start, and hold now.
struct WatchTotals {
  WatchFacts facts;
  int64_t running = 0;
  int64_t waiting = 0;
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
  int64_t cache_queries = 0;
  int64_t cache_hits = 0;
  int64_t steps = 0;
  double step_seconds = 0;
  double longest_step = 0;  // seconds; since the totals before
  double kv_usage = 0;
  int64_t resident_bytes = 0;
  int64_t request_bytes = 0;
};

// Bounded: of seconds and keys beyond the limits the oldest go. Thread-safe.
class WatchHistory {
 public:
  static constexpr size_t kMaxSamples = 3600;
  // Seconds of single keys in which they did something.
  static constexpr size_t kMaxKeySeconds = 32768;

  template <typename Sample>
  struct Part {
    uint64_t next = 0;  // the number of the sample that will come next
    std::vector<Sample> samples;
  };

  // A request was answered; `key_name` as in HttpRequest.
  void CountAnswer(const std::string& key_name, int status, int64_t prompt_tokens,
                   int64_t completion_tokens);
  // A second ends at `time` (seconds since 1970). `totals` are never less than those before, but
  // where a model has left.
  void EndSecond(double time, const WatchTotals& totals);

  // Samples from this number on, as far as they are kept; the first has the number 0.
  Part<WatchSample> Since(uint64_t number) const;
  // The same seconds, with what one key did in them.
  Part<KeySample> SinceOfKey(const std::string& key_name, uint64_t number) const;
  // As of the last second.
  WatchFacts facts() const;

 private:
  struct KeySecond {
    uint64_t number;  // of the sample
    std::string key_name;
    KeySample counts;
  };

  uint64_t first_number() const { return next_ - samples_.size(); }

  mutable std::mutex mutex_;
  std::deque<WatchSample> samples_;  // the last one has the number next_ - 1
  uint64_t next_ = 0;
  std::deque<KeySecond> key_seconds_;  // oldest first
  // Of the second that has not ended.
  KeySample answers_;
  std::map<std::string, KeySample> key_answers_;
  WatchTotals totals_;  // at the end of the second before
};

}  // namespace weft
