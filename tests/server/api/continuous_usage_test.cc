// stream_options.continuous_usage_stats: how many tokens there are so far, in every event.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/server/raw_client.h"
#include "tests/server/scripted_chat.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::string_view kContinuous =
    R"("stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true})";

std::vector<json> EventsOf(const RawResponse& response) {
  std::vector<json> events;
  const std::vector<std::string> data = SseData(response.body);
  EXPECT_EQ(data.back(), "[DONE]");
  for (size_t i = 0; i + 1 < data.size(); ++i) events.push_back(json::parse(data[i]));
  return events;
}

// Checks that every event of a choice says how many tokens there are, in order, and the last one
// what there are in all; returns the counts of every choice.
std::map<int32_t, std::vector<int64_t>> CountsOf(const RawResponse& response,
                                                 const std::vector<int64_t>& prompt_tokens) {
  std::map<int32_t, std::vector<int64_t>> counts;
  const std::vector<json> events = EventsOf(response);
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    const json& usage = events[i].at("usage");
    EXPECT_EQ(usage.size(), 3U) << usage;
    const auto choice = events[i].at("choices").at(0).at("index").get<int32_t>();
    const auto completion = usage.at("completion_tokens").get<int64_t>();
    EXPECT_EQ(usage.at("prompt_tokens"), prompt_tokens[static_cast<size_t>(choice)]);
    EXPECT_EQ(usage.at("total_tokens"), prompt_tokens[static_cast<size_t>(choice)] + completion);
    std::vector<int64_t>& of_choice = counts[choice];
    EXPECT_GE(completion, of_choice.empty() ? 0 : of_choice.back());
    of_choice.push_back(completion);
  }
  EXPECT_EQ(events.back().at("choices"), json::array());
  int64_t sum = 0;
  for (const auto& [choice, of_choice] : counts) sum += of_choice.back();
  EXPECT_EQ(events.back().at("usage").at("completion_tokens"), sum);
  EXPECT_TRUE(events.back().at("usage").contains("prompt_tokens_details"));
  return counts;
}

TEST(ContinuousUsageTest, EveryEventOfACompletionCountsItsChoice) {
  const TestServer server;
  const RawResponse response = server.Post(
      fmt::format(R"({{"prompt":["abc","abcdef"],"n":2,"max_tokens":3,{}}})", kContinuous));
  const auto counts = CountsOf(response, {4, 4, 7, 7});  // with the token that begins a text
  ASSERT_EQ(counts.size(), 4U);
  for (const auto& [choice, of_choice] : counts) EXPECT_EQ(of_choice.back(), 3);
}

// What is no whole character yet has no event: the next one counts it too, and so does the last.
TEST(ContinuousUsageTest, TokensWithoutTextAreCountedToo) {
  const TestServer server(
      Saying("a\xC5\x81"
             "b"));
  const RawResponse response = server.PostTo(
      "/v1/chat/completions",
      fmt::format(R"({{"messages":[{{"role":"user","content":"Hi"}}],{}}})", kContinuous));
  const std::vector<json> events = EventsOf(response);
  std::map<std::string, int64_t> count_at;
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    const json& delta = events[i].at("choices").at(0).at("delta");
    if (delta.value("content", json()).is_string()) {
      count_at[delta["content"]] = events[i].at("usage").at("completion_tokens");
    }
  }
  const std::map<std::string, int64_t> expected = {{"a", 1}, {"\xC5\x81", 3}, {"b", 4}};
  EXPECT_EQ(count_at, expected);
  const auto counts = CountsOf(response, {events.back().at("usage").at("prompt_tokens")});
  EXPECT_EQ(counts.at(0).back(), 5);  // the end token included
}

TEST(ContinuousUsageTest, WithoutIncludeUsageThereIsNone) {
  const TestServer server;
  for (const char* const options : {R"({"continuous_usage_stats":true})",
                                    R"({"continuous_usage_stats":true,"include_usage":false})"}) {
    const RawResponse response = server.Post(fmt::format(
        R"({{"prompt":"abc","max_tokens":3,"stream":true,"stream_options":{}}})", options));
    for (const json& event : EventsOf(response)) EXPECT_FALSE(event.contains("usage")) << event;
  }
}

}  // namespace
}  // namespace weft
