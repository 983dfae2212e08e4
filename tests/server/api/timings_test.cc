// "timings": where the server says a request's time went.
#include <chrono>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "server/api/completions/completion_answer.h"
#include "tests/server/scripted_chat.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kStepTime{10};

// The events of a stream but [DONE].
std::vector<json> EventsOf(const RawResponse& response) {
  std::vector<json> events;
  for (const std::string& data : SseData(response.body)) {
    if (data != "[DONE]") events.push_back(json::parse(data));
  }
  return events;
}

// Of a prompt that took one step and `predicted` tokens, a step each.
void ExpectTimings(const json& timings, int prompt, int predicted) {
  const double step_ms = kStepTime.count();
  EXPECT_EQ(timings.at("cache_n"), 0);
  EXPECT_EQ(timings.at("prompt_n"), prompt);
  EXPECT_EQ(timings.at("predicted_n"), predicted);
  EXPECT_GE(timings.at("queue_ms"), 0);
  const double prompt_ms = timings.at("prompt_ms");
  const double predicted_ms = timings.at("predicted_ms");
  EXPECT_GE(prompt_ms, step_ms);
  EXPECT_GE(predicted_ms, step_ms * (predicted - 1));
  EXPECT_DOUBLE_EQ(timings.at("prompt_per_token_ms"), prompt_ms / prompt);
  EXPECT_DOUBLE_EQ(timings.at("prompt_per_second"), 1000 * (prompt / prompt_ms));
  EXPECT_DOUBLE_EQ(timings.at("predicted_per_token_ms"), predicted_ms / (predicted - 1));
  EXPECT_DOUBLE_EQ(timings.at("predicted_per_second"), 1000 * ((predicted - 1) / predicted_ms));
}

class TimingsTest : public ::testing::Test {
 protected:
  explicit TimingsTest(const TestModelOptions& options = Saying("Hi!")) : server_(options) {
    server_.model.SetStepTime(kStepTime);
  }
  TestServer server_;
};

TEST_F(TimingsTest, AreOnlyThereWhenAskedFor) {
  const json plain = json::parse(server_.Post(R"({"prompt":"abc","max_tokens":3})").body);
  EXPECT_FALSE(plain.contains("timings"));
  const json off = json::parse(server_.Post(R"({"prompt":"abc","timings":false})").body);
  EXPECT_FALSE(off.contains("timings"));
}

TEST_F(TimingsTest, ACompletionSaysWhereTheTimeWent) {
  const json body =
      json::parse(server_.Post(R"({"prompt":"abc","max_tokens":3,"timings":true})").body);
  ExpectTimings(body.at("timings"), 4, body.at("usage").at("completion_tokens"));
}

TEST_F(TimingsTest, AStreamSaysItInItsLastEvent) {
  for (const bool has_usage : {false, true}) {
    const std::string options = has_usage ? R"("stream_options":{"include_usage":true},)" : "";
    const auto events = EventsOf(server_.Post(fmt::format(
        R"({{"prompt":"abc","max_tokens":4,"stream":true,{}"timings":true}})", options)));
    ASSERT_GE(events.size(), 2U);
    for (size_t i = 0; i + 1 < events.size(); ++i) EXPECT_FALSE(events[i].contains("timings"));
    ExpectTimings(events.back().at("timings"), 4, 4);
    const json& choices = events.back().at("choices");
    EXPECT_EQ(choices.empty(), has_usage);
    EXPECT_TRUE(has_usage || choices.at(0).at("finish_reason") == "length");
  }
}

TEST_F(TimingsTest, ChatsSayItToo) {
  const std::string chat = R"("messages":[{"role":"user","content":"Hi"}],"timings":true)";
  const std::string path = "/v1/chat/completions";
  const json whole = json::parse(server_.PostTo(path, "{" + chat + "}").body);
  // The reply's letters and the end.
  ExpectTimings(whole.at("timings"), kPromptBytes, 4);
  for (const bool has_usage : {false, true}) {
    const std::string options = has_usage ? R"(,"stream_options":{"include_usage":true})" : "";
    const std::string body = fmt::format(R"({{"stream":true,{}{}}})", chat, options);
    const auto events = EventsOf(server_.PostTo(path, body));
    ASSERT_GE(events.size(), 2U);
    for (size_t i = 0; i + 1 < events.size(); ++i) EXPECT_FALSE(events[i].contains("timings"));
    ExpectTimings(events.back().at("timings"), kPromptBytes, 4);
  }
}

TEST_F(TimingsTest, PromptsAndChoicesAreAddedUp) {
  const json body = json::parse(
      server_.Post(R"({"prompt":["abc","xyz"],"n":2,"max_tokens":1,"timings":true})").body);
  EXPECT_EQ(body.at("timings").at("prompt_n"), 8);
  EXPECT_EQ(body.at("timings").at("predicted_n"), 4);
}

// A choice of a prompt of 4 tokens, that came and went at these milliseconds.
EngineEvent FinishedAt(int32_t prompt_index, int submitted, int started, int first_token,
                       int finished) {
  const RequestTimes::Time start{std::chrono::hours(1)};
  const auto at = [&](int ms) { return start + std::chrono::milliseconds(ms); };
  FinishEvent finish;
  finish.prompt_tokens = 4;
  finish.completion_tokens = 5;
  finish.times = {.received = at(0),
                  .submitted = at(submitted),
                  .started = at(started),
                  .first_token = at(first_token),
                  .finished = at(finished)};
  return {.prompt_index = prompt_index, .event = std::move(finish)};
}

CompletionAnswerOptions OptionsFor(const ServedModel& model, int prompt_count) {
  CompletionAnswerOptions options;
  options.model = &model;
  options.echoes.resize(static_cast<size_t>(prompt_count));
  options.timings = true;
  return options;
}

TEST(TimingsOfEventsTest, RunFromTheFirstChoiceThatDidSomethingToTheLast) {
  const TestModel model;
  const ServedModel served = model.Served();
  CompletionAnswer answer(OptionsFor(served, 2));
  answer.Begin("id", 0);
  answer.Consume(FinishedAt(1, 21, 40, 80, 200));
  answer.Consume(FinishedAt(0, 20, 30, 90, 100));
  ASSERT_TRUE(answer.finished());
  const json timings = json::parse(answer.WholeBody()).at("timings");
  EXPECT_EQ(timings, json::parse(R"({"queue_ms":10.0,"cache_n":0,
      "prompt_n":8,"prompt_ms":50.0,"prompt_per_token_ms":6.25,"prompt_per_second":160.0,
      "predicted_n":10,"predicted_ms":120.0,"predicted_per_token_ms":13.333333333333334,
      "predicted_per_second":75.0})"));
}

TEST(TimingsOfEventsTest, WhatDidNotHappenTookNoTime) {
  const TestModel model;
  const ServedModel served = model.Served();
  CompletionAnswer answer(OptionsFor(served, 1));
  answer.Begin("id", 0);
  answer.Consume({.prompt_index = 0, .event = FinishEvent()});
  const json timings = json::parse(answer.WholeBody()).at("timings");
  for (const auto& [name, value] : timings.items()) EXPECT_EQ(value, 0) << name;
}

TEST_F(TimingsTest, AFieldOfAnotherTypeIsRefused) {
  const RawResponse response = server_.Post(R"({"prompt":"abc","timings":1})");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(ErrorOf(response).at("param"), "timings");
}

}  // namespace
}  // namespace weft
