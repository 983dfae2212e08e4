// The bytes of every answer.
#include <gtest/gtest.h>

#include "proto/api_error.h"
#include "proto/completions/completion_response.h"
#include "proto/models/models_response.h"
#include "proto/sse.h"

namespace weft {
namespace {

TEST(ResponsesTest, ErrorObjectHasOpenAisMembers) {
  ApiError error = InvalidField("stop[1]", "too \"long\"");
  EXPECT_EQ(ToJson(error), R"({"error":{"message":"too \"long\"","type":"invalid_request_error",)"
                           R"("param":"stop[1]","code":"invalid_value"}})");
  error.param.clear();
  error.code.clear();
  EXPECT_EQ(ToJson(error), R"({"error":{"message":"too \"long\"","type":"invalid_request_error",)"
                           R"("param":null,"code":null}})");
}

TEST(ResponsesTest, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  ApiError error;
  error.message = "a\xff";
  EXPECT_NE(ToJson(error).find("a\xef\xbf\xbd"), std::string::npos);
}

CompletionResponse OneChoice() {
  CompletionResponse response;
  response.id = "cmpl-1";
  response.created = 5;
  response.model = "m";
  response.system_fingerprint = "fp_1";
  response.choices.push_back(
      {.index = 0, .text = "Hi", .logprobs = {}, .finish_reason = "stop", .prompt_logprobs = {}});
  return response;
}

TEST(ResponsesTest, WholeAnswer) {
  CompletionResponse response = OneChoice();
  response.usage_field = UsageField::kPresent;
  response.usage = {.prompt_tokens = 3, .completion_tokens = 4, .cached_tokens = 2};
  EXPECT_EQ(
      ToJson(response),
      R"({"id":"cmpl-1","object":"text_completion","created":5,"model":"m",)"
      R"("system_fingerprint":"fp_1","choices":[{"index":0,"text":"Hi","logprobs":null,"finish_reason":"stop"}],"usage":{)"
      R"("prompt_tokens":3,"completion_tokens":4,"total_tokens":7,)"
      R"("prompt_tokens_details":{"cached_tokens":2}}})");
}

TEST(ResponsesTest, ChunkWithUsageToCome) {
  CompletionResponse response = OneChoice();
  response.usage_field = UsageField::kNull;
  response.choices[0].finish_reason.clear();
  EXPECT_EQ(
      ToJson(response),
      R"({"id":"cmpl-1","object":"text_completion","created":5,"model":"m",)"
      R"("system_fingerprint":"fp_1","choices":[{"index":0,"text":"Hi","logprobs":null,"finish_reason":null}],"usage":null})");
}

TEST(ResponsesTest, LogprobsOfWhichTheFirstIsUnknown) {
  CompletionResponse response = OneChoice();
  CompletionLogprobs& logprobs = response.choices[0].logprobs.emplace();
  logprobs.tokens = {"H", "i"};
  logprobs.token_logprobs = {std::nullopt, -0.5F};
  logprobs.top_logprobs = {{}, {{"i", -0.5F}, {"o", -2.0F}, {"i", -3.0F}}};
  logprobs.text_offset = {0, 1};
  EXPECT_NE(
      ToJson(response).find(R"("logprobs":{"tokens":["H","i"],"token_logprobs":[null,-0.5],)"
                            R"("top_logprobs":[null,{"i":-0.5,"o":-2.0}],"text_offset":[0,1]})"),
      std::string::npos)
      << ToJson(response);
}

TEST(ResponsesTest, ModelsAndEvents) {
  const ModelCard loaded{.id = "m",
                         .created = 5,
                         .max_context = 64,
                         .status = "loaded",
                         .kind = "GGUF Q8_0",
                         .file_bytes = 7,
                         .memory = ModelCard::Memory{1, 2, 3},
                         .last_used = 8,
                         .expires_at = 9};
  const ModelCard failed{.id = "f", .status = "failed", .failure = "why", .fits = false};
  EXPECT_EQ(ToJson(std::vector{loaded, failed}),
            R"({"object":"list","data":[{"id":"m","object":"model","created":5,)"
            R"("owned_by":"weft","max_model_len":64,"status":{"value":"loaded"},)"
            R"("weft":{"size_bytes":7,"kind":"GGUF Q8_0","fits":true,"last_used":8,)"
            R"("expires_at":9,)"
            R"("memory":{"weight_bytes":1,"kv_bytes":2,"workspace_bytes":3}}},)"
            R"({"id":"f","object":"model","created":0,"owned_by":"weft",)"
            R"("status":{"value":"failed","error":"why"},)"
            R"("weft":{"size_bytes":0,"kind":"","fits":false,"last_used":null,)"
            R"("expires_at":null,"memory":null}}]})");
  EXPECT_EQ(SseEvent("{}"), "data: {}\n\n");
}

}  // namespace
}  // namespace weft
