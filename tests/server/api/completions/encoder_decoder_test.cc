// /v1/completions through a socket with an encoder-decoder, which reads prompts and writes none of
// them.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TestModelOptions Reading() {
  TestModelOptions options;
  options.max_context = 64;
  options.reads_sources = true;
  return options;
}

std::string MessageOf(const RawResponse& response) { return ErrorOf(response).at("message"); }

TEST(EncoderDecoderCompletionTest, ReadsThePromptAsASource) {
  const TestServer server(Reading());
  const std::string request = R"("prompt":"abc","max_tokens":40,"temperature":0})";
  const RawResponse whole = server.Post("{" + request);
  ASSERT_EQ(whole.status, 200) << whole.body;
  const json usage = json::parse(whole.body)["usage"];
  EXPECT_EQ(usage["prompt_tokens"], 4);
  EXPECT_EQ(usage["completion_tokens"], 40);
  EXPECT_EQ(TextOf(whole).size(), 40U);
  const RawResponse streamed = server.Post(R"({"stream":true,)" + request);
  ASSERT_EQ(streamed.status, 200);
  std::string text;
  for (const std::string& event : SseData(streamed.body)) {
    if (event != "[DONE]") text += json::parse(event)["choices"][0]["text"].get<std::string>();
  }
  EXPECT_EQ(text, TextOf(whole));
  // Another source, another text.
  const RawResponse other = server.Post(R"({"prompt":"abd","max_tokens":40,"temperature":0})");
  EXPECT_NE(TextOf(other), TextOf(whole));
}

// A prompt's continuation has the space that parts it from the prompt; an answer has none.
TEST(EncoderDecoderCompletionTest, AnswersBeginWithoutASpace) {
  TestModelOptions options = Reading();
  options.script = " Das Haus";
  const TestServer server(options);
  const std::string request = R"("prompt":"abc","max_tokens":8,"n":2})";
  const RawResponse whole = server.Post(R"({"temperature":0,"logprobs":0,)" + request);
  ASSERT_EQ(whole.status, 200) << whole.body;
  const json choices = json::parse(whole.body)["choices"];
  ASSERT_EQ(choices.size(), 2U);
  for (const json& choice : choices) {
    EXPECT_EQ(choice["text"], "Das Hau");
    EXPECT_EQ(choice["logprobs"]["tokens"], (json{" ", "D", "a", "s", " ", "H", "a", "u"}));
    EXPECT_EQ(choice["logprobs"]["text_offset"], (json{0, 0, 1, 2, 3, 4, 5, 6}));
  }
  const RawResponse streamed = server.Post(R"({"temperature":0,"stream":true,)" + request);
  std::string text;
  for (const std::string& event : SseData(streamed.body)) {
    if (event == "[DONE]") continue;
    const json choice = json::parse(event)["choices"][0];
    if (choice["index"] == 1) text += choice["text"].get<std::string>();
  }
  EXPECT_EQ(text, "Das Hau");
  EXPECT_EQ(TextOf(server.Post(R"({"use_beam_search":true,"best_of":2,)" + request)), "Das Hau");
  options.reads_sources = false;
  const TestServer continuing(options);
  EXPECT_EQ(TextOf(continuing.Post(R"({"prompt":[[256]],"max_tokens":4,"temperature":0})")),
            " Das");
}

// Law 2, through the whole server: choices, beams and other prompts beside it change nothing.
TEST(EncoderDecoderCompletionTest, TheSameAloneAndInACrowd) {
  const TestServer server(Reading());
  const RawResponse alone =
      server.Post(R"({"prompt":"abc","max_tokens":20,"temperature":1,"seed":5})");
  const RawResponse crowd = server.Post(
      R"({"prompt":["xyz","abc","abc","q"],"n":2,"max_tokens":20,"temperature":1,"seed":5})");
  ASSERT_EQ(crowd.status, 200) << crowd.body;
  const json choices = json::parse(crowd.body)["choices"];
  ASSERT_EQ(choices.size(), 8U);
  EXPECT_EQ(choices[2]["text"], TextOf(alone));
  EXPECT_EQ(choices[4]["text"], TextOf(alone));
  EXPECT_NE(choices[3]["text"], TextOf(alone));
  const std::string beams = R"("max_tokens":9,"use_beam_search":true,"n":2,"best_of":4})";
  const RawResponse search = server.Post(R"({"prompt":"abc",)" + beams);
  const RawResponse both = server.Post(R"({"prompt":["xy","abc"],)" + beams);
  ASSERT_EQ(both.status, 200) << both.body;
  EXPECT_EQ(json::parse(both.body)["choices"][2]["text"], TextOf(search));
}

TEST(EncoderDecoderCompletionTest, TheSameSourceIsComputedOnce) {
  TestModelOptions options = Reading();
  options.prefix_cache = true;
  const TestServer server(options);
  const std::string body = R"({"prompt":"the same source","max_tokens":2,"temperature":0})";
  const auto cached = [](const RawResponse& response) {
    return json::parse(response.body)["usage"]["prompt_tokens_details"]["cached_tokens"];
  };
  const RawResponse first = server.Post(body);
  const RawResponse second = server.Post(body);
  EXPECT_EQ(cached(first), 0);
  EXPECT_EQ(cached(second), 16);
  EXPECT_EQ(TextOf(first), TextOf(second));
  // A source that begins alike is another: all of it is seen from everywhere.
  EXPECT_EQ(cached(server.Post(R"({"prompt":"the same source!","max_tokens":2})")), 0);
  EXPECT_EQ(
      cached(server.Post(R"({"prompt":"the same source","max_tokens":2,"cache_prompt":false})")),
      0);
}

TEST(EncoderDecoderCompletionTest, TasksStandBeforeTheText) {
  const TestServer server(Reading());
  const std::string rest = R"("max_tokens":8,"temperature":0})";
  const RawResponse named = server.Post(R"({"prompt":"abc","task":"summarization",)" + rest);
  const RawResponse spelled = server.Post(R"({"prompt":"summarize: abc",)" + rest);
  ASSERT_EQ(named.status, 200) << named.body;
  EXPECT_EQ(TextOf(named), TextOf(spelled));
  const RawResponse unknown = server.Post(R"({"prompt":"abc","task":"poetry",)" + rest);
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(ErrorOf(unknown)["param"], "task");
  EXPECT_THAT(MessageOf(unknown), HasSubstr("expected summarization, or translation_SOURCE"));
}

TEST(EncoderDecoderCompletionTest, WhatCannotBeIsRefusedByName) {
  const TestServer server(Reading());
  for (const std::string field : {R"("echo":true)", R"("prompt_logprobs":1)", R"("suffix":"x")"}) {
    const RawResponse refused = server.Post(R"({"prompt":"abc","max_tokens":2,)" + field + "}");
    EXPECT_EQ(refused.status, 400) << field;
    EXPECT_THAT(MessageOf(refused), HasSubstr("the model is an encoder-decoder")) << field;
  }
  const RawResponse lengthy =
      server.Post(R"({"max_tokens":2,"prompt":")" + std::string(100, 'a') + R"("})");
  EXPECT_EQ(lengthy.status, 400);
  EXPECT_EQ(
      MessageOf(lengthy),
      "This model's maximum context length is 64 tokens. However, your prompt resulted in 101 "
      "tokens. Please reduce the length of the prompt.");
  EXPECT_EQ(ErrorOf(lengthy)["code"], "context_length_exceeded");
  const RawResponse chat =
      server.PostTo("/v1/chat/completions", R"({"messages":[{"role":"user","content":"a"}]})");
  EXPECT_EQ(chat.status, 400);
  EXPECT_THAT(MessageOf(chat), HasSubstr("is an encoder-decoder, which holds no conversations"));
  const RawResponse embedding = server.PostTo("/v1/embeddings", R"({"input":"a"})");
  EXPECT_EQ(embedding.status, 400);
  EXPECT_THAT(MessageOf(embedding), HasSubstr("which makes no embeddings"));
}

TEST(EncoderDecoderCompletionTest, OtherModelsHaveNoTasks) {
  const TestServer server;
  const RawResponse refused = server.Post(R"({"prompt":"abc","task":"summarization"})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(MessageOf(refused), HasSubstr("the model is no encoder-decoder"));
}

}  // namespace
}  // namespace weft
