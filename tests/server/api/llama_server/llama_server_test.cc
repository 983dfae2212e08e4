// llama-server's routes through a socket: what comes back for what was sent.
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json LlamaWhole(const TestServer& server, const std::string& body,
                std::string_view path = "/completion") {
  const RawResponse response = server.PostTo(path, body);
  EXPECT_EQ(response.status, 200) << response.body;
  return json::parse(response.body);
}

std::vector<json> LlamaEvents(const TestServer& server, const std::string& body) {
  const RawResponse response = server.PostTo("/completion", body);
  EXPECT_EQ(response.status, 200) << response.body;
  std::vector<json> events;
  std::istringstream text(response.body);
  for (std::string line; std::getline(text, line);) {
    if (!line.empty()) events.push_back(json::parse(line.substr(6)));
  }
  return events;
}

RawResponse AskLlama(const TestServer& server, std::string_view path) {
  RawClient client(server.endpoint());
  client.Send(Get(path));
  return client.Read();
}

TEST(LlamaServerTest, AWholeAnswer) {
  const TestServer server;
  json answer = LlamaWhole(
      server, R"({"prompt":"ab","n_predict":4,"temperature":0,"return_tokens":true,"seed":3})");
  EXPECT_EQ(answer["timings"]["prompt_n"], 3);
  EXPECT_EQ(answer["timings"]["predicted_n"], 4);
  EXPECT_EQ(answer["generation_settings"]["n_predict"], 4);
  EXPECT_EQ(answer["generation_settings"]["seed"], 3);
  EXPECT_EQ(answer["generation_settings"]["temperature"], 0.0);
  EXPECT_EQ(answer["content"].get<std::string>().size(), 4U);
  EXPECT_EQ(answer["tokens"].size(), 4U);
  for (const char* const name : {"timings", "generation_settings", "content", "tokens"}) {
    answer.erase(name);
  }
  EXPECT_EQ(answer, json::parse(R"({"index":0,"id_slot":-1,"stop":true,"model":"test-model",
      "tokens_predicted":4,"tokens_evaluated":3,"prompt":"<s>ab","has_new_line":false,
      "truncated":false,"stop_type":"limit","stopping_word":"","tokens_cached":7})"));
}

TEST(LlamaServerTest, AStreamSaysTheSame) {
  const TestServer server;
  const std::string fields = R"("prompt":"ab","n_predict":4,"temperature":0,"cache_prompt":false)";
  const json whole = LlamaWhole(server, "{" + fields + "}");
  const std::vector<json> events = LlamaEvents(
      server, "{" + fields + R"(,"stream":true,"timings_per_token":true,"return_progress":true})");
  std::string content;
  std::vector<json> progress;
  for (const json& event : events) {
    content += event["content"];
    EXPECT_TRUE(event.contains("timings"));
    EXPECT_EQ(event["stop"], &event == &events.back());
    if (event.contains("prompt_progress")) progress.push_back(event["prompt_progress"]);
  }
  EXPECT_EQ(content, whole["content"]);
  EXPECT_EQ(events.back()["tokens_predicted"], 4);
  ASSERT_EQ(progress.size(), 2U);
  EXPECT_EQ(progress[0]["processed"], 0);
  EXPECT_EQ(progress[1]["processed"], 3);
  EXPECT_EQ(progress[1]["total"], 3);
}

TEST(LlamaServerTest, SeveralPromptsAreAList) {
  const TestServer server;
  const json answers = LlamaWhole(
      server, R"({"prompt":["ab",[256,97,98],[256,"ab"]],"n_predict":3,"temperature":0})");
  ASSERT_EQ(answers.size(), 3U);
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i]["index"], i);
    EXPECT_EQ(answers[i]["content"], answers[0]["content"]);
    EXPECT_EQ(answers[i]["prompt"], "<s>ab");
  }
}

TEST(LlamaServerTest, ProbabilitiesOfTokens) {
  const TestServer server;
  const json answer =
      LlamaWhole(server, R"({"prompt":"ab","n_predict":2,"n_probs":3,"temperature":0})");
  const json& probs = answer["completion_probabilities"];
  ASSERT_EQ(probs.size(), 2U);
  EXPECT_EQ(probs[0]["top_logprobs"].size(), 3U);
  EXPECT_EQ(probs[0]["id"], probs[0]["top_logprobs"][0]["id"]);
  EXPECT_EQ(probs[0]["bytes"], json::array({probs[0]["id"]}));  // tokens are bytes here
}

TEST(LlamaServerTest, FieldsAreChosen) {
  const TestServer server;
  EXPECT_EQ(LlamaWhole(server, R"({"prompt":"ab","n_predict":2,)"
                               R"("response_fields":["timings/prompt_n","stop","none"]})"),
            json::parse(R"({"timings/prompt_n":3,"stop":true})"));
  EXPECT_EQ(LlamaWhole(server, R"({"prompt":"ab","n_predict":0,"response_fields":[""]})"),
            json::object());
}

TEST(LlamaServerTest, APromptMayBeReadAndNoMore) {
  const TestServer server;
  const json answer = LlamaWhole(server, R"({"prompt":"ab","n_predict":0})");
  EXPECT_EQ(answer["content"], "");
  EXPECT_EQ(answer["tokens_predicted"], 0);
}

TEST(LlamaServerTest, TokensAreNeverChosen) {
  TestModelOptions options;
  options.script = "xyzzy";
  const TestServer server(options);
  const json answer =
      LlamaWhole(server, R"({"prompt":"ab","n_predict":1,"temperature":0,"ignore_eos":true,)"
                         R"("logit_bias":[["x",false],[121,2]]})");
  EXPECT_NE(answer["content"], "x");
  EXPECT_EQ(answer["generation_settings"]["logit_bias"],
            json::parse(R"([{"bias":2.0,"token":121},{"bias":null,"token":120},
                            {"bias":null,"token":257}])"));
}

TEST(LlamaServerTest, AContextThatIsFullTruncates) {
  TestModelOptions options;
  options.max_context = 16;
  const TestServer server(options);
  const json answer = LlamaWhole(server, R"({"prompt":"ab","ignore_eos":true})");
  EXPECT_EQ(answer["tokens_predicted"], 13);
  EXPECT_EQ(answer["truncated"], true);
  const RawResponse refused =
      server.PostTo("/completion", R"({"prompt":"a very long text indeed"})");
  EXPECT_EQ(refused.status, 400);
  const json error = ErrorOf(refused);
  EXPECT_EQ(error["code"], 400);
  EXPECT_EQ(error["type"], "exceed_context_size_error");
  EXPECT_EQ(error["n_prompt_tokens"], 24);
  EXPECT_EQ(error["n_ctx"], 16);
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("exceeds the available context size"));
}

TEST(LlamaServerTest, ThePathsWithoutV1AreOfBothApis) {
  const TestServer server;
  EXPECT_TRUE(
      LlamaWhole(server, R"({"prompt":"ab","n_predict":1})", "/completions").contains("content"));
  EXPECT_TRUE(
      LlamaWhole(server, R"({"prompt":"ab","max_tokens":1})", "/completions").contains("choices"));
}

TEST(LlamaServerTest, WithoutTokensForItNothingIsFilledIn) {
  const TestServer server;
  const RawResponse refused =
      server.PostTo("/infill", R"({"input_prefix":"a","input_suffix":"b"})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(ErrorOf(refused)["type"], "invalid_request_error");
}

TEST(LlamaServerTest, SlotsAreNumbers) {
  TestModelOptions options;
  options.max_sequences = 2;
  const TestServer server(options);
  EXPECT_EQ(json::parse(AskLlama(server, "/slots").body),
            json::parse(
                R"([{"id":0,"n_ctx":512,"speculative":false,"is_processing":false},
          {"id":1,"n_ctx":512,"speculative":false,"is_processing":false}])"));
  EXPECT_EQ(AskLlama(server, "/lora-adapters").body, "[]");
}

TEST(LlamaServerTest, TheServerStaysAsItIs) {
  const TestServer server;
  for (const char* const path : {"/props", "/slots/0?action=save", "/lora-adapters"}) {
    const RawResponse refused = server.PostTo(path, "{}");
    EXPECT_EQ(refused.status, 405) << path;
    EXPECT_EQ(ErrorOf(refused)["type"], "invalid_request_error");
  }
}

}  // namespace
}  // namespace weft
