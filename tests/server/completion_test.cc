// /v1/completions through a socket: what comes back for what was sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// The texts of a stream's chunks joined, a choice each; checks that the stream is well formed.
std::vector<std::string> StreamedTexts(const RawResponse& response, int choice_count = 1) {
  EXPECT_TRUE(response.complete);
  std::vector<std::string> texts(static_cast<size_t>(choice_count));
  const std::vector<std::string> events = SseData(response.body);
  EXPECT_FALSE(events.empty());
  if (events.empty()) return texts;
  EXPECT_EQ(events.back(), "[DONE]");
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    const json chunk = json::parse(events[i]);
    for (const json& choice : chunk.at("choices")) {
      texts.at(choice.at("index")) += choice.at("text").get<std::string>();
    }
  }
  return texts;
}

TEST(CompletionTest, AnswersWholeAndStreamedAlike) {
  const TestServer server;
  const RawResponse whole =
      server.Post(R"({"model":"test-model","prompt":"abc","max_tokens":40,"temperature":0})");
  ASSERT_EQ(whole.status, 200);
  const json body = json::parse(whole.body);
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["model"], "test-model");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(body["choices"][0]["logprobs"], nullptr);
  EXPECT_EQ(body["usage"]["prompt_tokens"], 4);
  EXPECT_EQ(body["usage"]["completion_tokens"], 40);
  EXPECT_EQ(TextOf(whole).size(), 40U);

  const RawResponse streamed = server.Post(
      R"({"model":"test-model","prompt":"abc","max_tokens":40,"temperature":0,"stream":true})");
  ASSERT_EQ(streamed.status, 200);
  EXPECT_THAT(streamed.headers.at("content-type"), HasSubstr("text/event-stream"));
  EXPECT_EQ(StreamedTexts(streamed)[0], TextOf(whole));
}

}  // namespace
}  // namespace weft
