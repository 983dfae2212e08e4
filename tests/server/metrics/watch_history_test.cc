// The ring of seconds behind /watch.
#include "server/metrics/watch_history.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(WatchHistory, ASecondIsWhatCameSinceTheOneBefore) {
  WatchHistory history;
  WatchTotals totals;
  totals.prompt_tokens = 100;
  totals.steps = 7;
  totals.running = 2;
  totals.longest_step = 0.25;
  totals.facts = {.max_stall = 0.1, .memory_limit_bytes = 1000, .request_limit_bytes = 100};
  history.EndSecond(10, totals);
  totals.prompt_tokens = 130;
  totals.completion_tokens = 5;
  totals.cache_queries = 30;
  totals.cache_hits = 20;
  totals.steps = 9;
  totals.step_seconds = 0.3;
  totals.running = 1;
  totals.waiting = 4;
  totals.kv_usage = 0.5;
  totals.resident_bytes = 123;
  totals.request_bytes = 45;
  history.CountAnswer("", 200, 30, 5);
  history.CountAnswer("", 429, 0, 0);
  history.CountAnswer("", 503, 0, 0);
  history.CountAnswer("", 400, 0, 0);
  history.EndSecond(11, totals);
  totals.prompt_tokens = 10;  // a model has left, with its counts
  history.EndSecond(12, totals);

  const auto part = history.Since(0);
  EXPECT_EQ(part.next, 3U);
  ASSERT_EQ(part.samples.size(), 3U);
  const WatchSample& first = part.samples[0];
  EXPECT_EQ(first.time, 10);
  EXPECT_EQ(first.running, 2);
  EXPECT_EQ(first.prompt_tokens, 100);
  EXPECT_EQ(first.steps, 7);
  EXPECT_EQ(first.longest_step, 0.25);
  const WatchSample& second = part.samples[1];
  EXPECT_EQ(second.time, 11);
  EXPECT_EQ(second.running, 1);
  EXPECT_EQ(second.waiting, 4);
  EXPECT_EQ(second.requests, 4);
  EXPECT_EQ(second.refusals, 2);
  EXPECT_EQ(second.prompt_tokens, 30);
  EXPECT_EQ(second.completion_tokens, 5);
  EXPECT_EQ(second.cache_queries, 30);
  EXPECT_EQ(second.cache_hits, 20);
  EXPECT_EQ(second.steps, 2);
  EXPECT_EQ(second.step_seconds, 0.3);
  EXPECT_EQ(second.kv_usage, 0.5);
  EXPECT_EQ(second.resident_bytes, 123);
  EXPECT_EQ(second.request_bytes, 45);
  EXPECT_EQ(part.samples[2].requests, 0);
  EXPECT_EQ(part.samples[2].prompt_tokens, 0);
  EXPECT_EQ(history.facts().max_stall, 0.1);
  EXPECT_EQ(history.Since(2).samples.size(), 1U);
  EXPECT_TRUE(history.Since(3).samples.empty());
  EXPECT_TRUE(history.Since(1000).samples.empty());
}

TEST(WatchHistory, AKeySeesItselfAlone) {
  WatchHistory history;
  history.EndSecond(1, {});
  history.CountAnswer("alice", 200, 3, 4);
  history.CountAnswer("alice", 429, 0, 0);
  history.CountAnswer("bob", 200, 50, 60);
  history.EndSecond(2, {});
  history.EndSecond(3, {});
  const auto alices = history.SinceOfKey("alice", 0);
  ASSERT_EQ(alices.samples.size(), 3U);
  EXPECT_EQ(alices.next, 3U);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(alices.samples[i].time, static_cast<double>(i + 1));
  EXPECT_EQ(alices.samples[0].requests, 0);
  EXPECT_EQ(alices.samples[1].requests, 2);
  EXPECT_EQ(alices.samples[1].refusals, 1);
  EXPECT_EQ(alices.samples[1].prompt_tokens, 3);
  EXPECT_EQ(alices.samples[1].completion_tokens, 4);
  EXPECT_EQ(alices.samples[2].requests, 0);
  EXPECT_EQ(history.SinceOfKey("bob", 1).samples[0].prompt_tokens, 50);
  EXPECT_EQ(history.SinceOfKey("carol", 1).samples[0].requests, 0);
  EXPECT_EQ(history.Since(0).samples[1].requests, 3);
}

TEST(WatchHistory, TheOldestGo) {
  WatchHistory history;
  constexpr int kSeconds = WatchHistory::kMaxSamples + 10;
  for (int i = 0; i < kSeconds; ++i) {
    if (i < 20) history.CountAnswer("alice", 200, 1, 1);
    history.EndSecond(i, {});
  }
  const auto part = history.Since(0);
  EXPECT_EQ(part.next, static_cast<uint64_t>(kSeconds));
  ASSERT_EQ(part.samples.size(), WatchHistory::kMaxSamples);
  EXPECT_EQ(part.samples.front().time, 10);
  EXPECT_EQ(part.samples.back().time, kSeconds - 1);
  const auto alices = history.SinceOfKey("alice", 0);
  ASSERT_EQ(alices.samples.size(), WatchHistory::kMaxSamples);
  EXPECT_EQ(alices.samples[9].requests, 1);
  EXPECT_EQ(alices.samples[10].requests, 0);
}

TEST(WatchHistory, ManyKeysAreBounded) {
  WatchHistory history;
  constexpr size_t kKeys = 3 * WatchHistory::kMaxKeySeconds / 4;
  for (int second = 0; second < 2; ++second) {
    for (size_t i = 0; i < kKeys; ++i) history.CountAnswer("key" + std::to_string(i), 200, 1, 1);
    history.EndSecond(second, {});
  }
  size_t kept = 0;
  // Those of the last second are all there, of the one before the rest.
  for (size_t i = 0; i < kKeys; i += 512) {
    const auto part = history.SinceOfKey("key" + std::to_string(i), 0);
    kept += static_cast<size_t>(part.samples[0].requests);
    EXPECT_EQ(part.samples[1].requests, 1);
  }
  EXPECT_GT(kept, 0U);
  EXPECT_LT(kept, kKeys / 512);
}

}  // namespace
}  // namespace weft
