#include "server/metrics/watch_history.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft {
namespace {

// Six decimals are enough for seconds and shares, and short on the wire.
double Rounded(double value) {
  constexpr double kParts = 1e6;
  return std::round(value * kParts) / kParts;
}

// Of a model that has left its counts are missing.
int64_t Growth(int64_t now, int64_t before) { return std::max<int64_t>(now - before, 0); }

}  // namespace

void WatchHistory::CountAnswer(const std::string& key_name, int status, int64_t prompt_tokens,
                               int64_t completion_tokens) {
  const auto count = [&](KeySample& counts) {
    ++counts.requests;
    if (status == 429 || status == 503) ++counts.refusals;
    counts.prompt_tokens += prompt_tokens;
    counts.completion_tokens += completion_tokens;
  };
  const std::lock_guard lock(mutex_);
  count(answers_);
  if (!key_name.empty()) count(key_answers_[key_name]);
}

void WatchHistory::EndSecond(double time, const WatchTotals& totals) {
  const std::lock_guard lock(mutex_);
  const WatchTotals before = std::exchange(totals_, totals);
  samples_.push_back(
      {.time = Rounded(time),
       .running = totals.running,
       .waiting = totals.waiting,
       .requests = answers_.requests,
       .refusals = answers_.refusals,
       .prompt_tokens = Growth(totals.prompt_tokens, before.prompt_tokens),
       .completion_tokens = Growth(totals.completion_tokens, before.completion_tokens),
       .cache_queries = Growth(totals.cache_queries, before.cache_queries),
       .cache_hits = Growth(totals.cache_hits, before.cache_hits),
       .steps = Growth(totals.steps, before.steps),
       .step_seconds = Rounded(std::max(totals.step_seconds - before.step_seconds, 0.0)),
       .longest_step = Rounded(totals.longest_step),
       .kv_usage = Rounded(totals.kv_usage),
       .resident_bytes = totals.resident_bytes,
       .request_bytes = totals.request_bytes});
  answers_ = {};
  for (auto& [key_name, counts] : key_answers_) key_seconds_.push_back({next_, key_name, counts});
  key_answers_.clear();
  ++next_;
  if (samples_.size() > kMaxSamples) samples_.pop_front();
  while (key_seconds_.size() > kMaxKeySeconds) key_seconds_.pop_front();
}

WatchHistory::Part<WatchSample> WatchHistory::Since(uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const uint64_t first = std::clamp(number, first_number(), next_);
  const auto begin = samples_.begin() + static_cast<std::ptrdiff_t>(first - first_number());
  return {next_, {begin, samples_.end()}};
}

WatchHistory::Part<KeySample> WatchHistory::SinceOfKey(const std::string& key_name,
                                                       uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const uint64_t first = std::clamp(number, first_number(), next_);
  Part<KeySample> part{next_, std::vector<KeySample>(next_ - first)};
  for (auto second = key_seconds_.rbegin(); second != key_seconds_.rend(); ++second) {
    if (second->number < first) break;
    if (second->key_name == key_name) part.samples[second->number - first] = second->counts;
  }
  for (uint64_t i = first; i < next_; ++i) {
    part.samples[i - first].time = samples_[i - first_number()].time;
  }
  return part;
}

WatchFacts WatchHistory::facts() const {
  const std::lock_guard lock(mutex_);
  return totals_.facts;
}

}  // namespace weft
