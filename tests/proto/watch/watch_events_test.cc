// What /watch sends, word by word.
#include "proto/watch/watch_events.h"

#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr WatchFacts kFacts = {
    .max_stall = 0.1, .memory_limit_bytes = 20'000'000'000, .request_limit_bytes = 1024};

TEST(WatchEvents, OfTheServer) {
  WatchSample sample;
  sample.time = 1700000000.25;
  sample.running = 1;
  sample.waiting = 2;
  sample.requests = 3;
  sample.refusals = 4;
  sample.prompt_tokens = 5;
  sample.completion_tokens = 6;
  sample.cache_queries = 7;
  sample.cache_hits = 8;
  sample.steps = 9;
  sample.step_seconds = 0.5;
  sample.longest_step = 0.125;
  sample.kv_usage = 0.75;
  sample.resident_bytes = 30'000'000'000;
  sample.request_bytes = 11;
  EXPECT_EQ(ToJson(sample),
            R"({"object":"watch.sample","time":1700000000.25,"running":1,"waiting":2,"requests":3,)"
            R"("refusals":4,"prompt_tokens":5,"completion_tokens":6,"cache_queries":7,)"
            R"("cache_hits":8,"steps":9,"step_seconds":0.5,"longest_step":0.125,"kv_usage":0.75,)"
            R"("resident_bytes":30000000000,"request_bytes":11})");
  const std::vector<WatchSample> samples = {sample, {}};
  EXPECT_EQ(HistoryJson(samples, kFacts),
            R"({"object":"watch.history","scope":"server","max_stall":0.1,)"
            R"("memory_limit_bytes":20000000000,"request_limit_bytes":1024,"samples":{)"
            R"("time":[1700000000.25,0],"running":[1,0],"waiting":[2,0],"requests":[3,0],)"
            R"("refusals":[4,0],"prompt_tokens":[5,0],"completion_tokens":[6,0],)"
            R"("cache_queries":[7,0],"cache_hits":[8,0],"steps":[9,0],"step_seconds":[0.5,0],)"
            R"("longest_step":[0.125,0],"kv_usage":[0.75,0],"resident_bytes":[30000000000,0],)"
            R"("request_bytes":[11,0]}})");
}

TEST(WatchEvents, OfAKey) {
  const KeySample sample = {
      .time = 2, .requests = 3, .refusals = 1, .prompt_tokens = 4, .completion_tokens = 5};
  EXPECT_EQ(ToJson(sample),
            R"({"object":"watch.sample","time":2,"requests":3,"refusals":1,"prompt_tokens":4,)"
            R"("completion_tokens":5})");
  EXPECT_EQ(HistoryJson(std::vector<KeySample>{}, kFacts),
            R"({"object":"watch.history","scope":"key","max_stall":0.1,)"
            R"("memory_limit_bytes":20000000000,"request_limit_bytes":1024,"samples":{"time":[],)"
            R"("requests":[],"refusals":[],"prompt_tokens":[],"completion_tokens":[]}})");
}

}  // namespace
}  // namespace weft
