#include "proto/ollama/ollama_request.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kHi = R"("messages":[{"role":"user","content":"Hi"}])";

std::string Chat(std::string_view fields) {
  return "{" + std::string(kHi) + (fields.empty() ? "" : ",") + std::string(fields) + "}";
}

OllamaRequest Read(const std::string& body) {
  ApiResult<OllamaRequest> request = ParseOllamaChatRequest(body);
  EXPECT_TRUE(request) << body << ": " << (request ? "" : request.error().message);
  return request.value_or(OllamaRequest());
}

TEST(OllamaChatRequestTest, StreamsUnlessToldOtherwise) {
  EXPECT_TRUE(Read(Chat("")).chat.stream);
  EXPECT_FALSE(Read(Chat(R"("stream":false)")).chat.stream);
  EXPECT_EQ(Read(Chat("")).load, OllamaLoad::kNone);
  EXPECT_EQ(Read(Chat("")).chat.messages,
            ordered_json::parse(R"([{"role":"user","content":"Hi"}])"));
}

TEST(OllamaChatRequestTest, MapsOptions) {
  const OllamaRequest request = Read(
      Chat(R"("options":{"num_predict":7,"temperature":0.5,"top_k":3,"top_p":0.5,"min_p":0.1,)"
           R"("typical_p":0.9,"repeat_penalty":1.5,"repeat_last_n":9,"presence_penalty":1,)"
           R"("frequency_penalty":0.5,"mirostat":2,"mirostat_tau":3,"mirostat_eta":0.2,"seed":4,)"
           R"("stop":["x"],"num_ctx":99,"num_gpu":1,"num_thread":8,"use_mmap":true,"numa":false,)"
           R"("penalize_newline":true,"what":1},"temperature":7)"));
  EXPECT_EQ(request.chat.max_tokens, 7);
  EXPECT_EQ(request.num_ctx, 99);
  const SamplingFields& sampling = request.chat.sampling;
  EXPECT_EQ(sampling.temperature, 0.5);
  EXPECT_EQ(sampling.top_k, 3);
  EXPECT_EQ(sampling.top_p, 0.5);
  EXPECT_EQ(sampling.min_p, 0.1);
  EXPECT_EQ(sampling.typical_p, 0.9);
  EXPECT_EQ(sampling.repetition_penalty, 1.5);
  EXPECT_EQ(sampling.repeat_last_n, 9);
  EXPECT_EQ(sampling.presence_penalty, 1);
  EXPECT_EQ(sampling.frequency_penalty, 0.5);
  EXPECT_EQ(sampling.mirostat, 2);
  EXPECT_EQ(sampling.mirostat_tau, 3);
  EXPECT_EQ(sampling.mirostat_eta, 0.2);
  EXPECT_EQ(sampling.seed, 4U);
  EXPECT_EQ(sampling.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(request.chat.unknown_field_count, 2);  // "what", and a temperature out of its place
  for (const char* no_limit : {"0", "-1", "-2"}) {
    const auto body = Chat(R"("options":{"seed":-1,"num_predict":)" + std::string(no_limit) + "}");
    EXPECT_EQ(Read(body).chat.max_tokens, std::nullopt);
    EXPECT_EQ(Read(body).chat.sampling.seed, std::nullopt);
  }
}

TEST(OllamaChatRequestTest, ReadsFormat) {
  EXPECT_EQ(Read(Chat(R"("format":"")")).chat.output.kind, OutputKind::kText);
  EXPECT_EQ(Read(Chat(R"("format":"json")")).chat.output.kind, OutputKind::kJsonObject);
  const OutputFormat schema = Read(Chat(R"("format":{"type":"integer"})")).chat.output;
  EXPECT_EQ(schema.kind, OutputKind::kJsonSchema);
  EXPECT_EQ(schema.schema, ordered_json::parse(R"({"type":"integer"})"));
  EXPECT_EQ(schema.path, "format");
}

TEST(OllamaChatRequestTest, TellsTheTemplateToThink) {
  EXPECT_EQ(Read(Chat("")).chat.template_variables, ordered_json::object());
  EXPECT_EQ(Read(Chat(R"("think":false)")).chat.template_variables,
            ordered_json({{"enable_thinking", false}}));
  EXPECT_FALSE(Read(Chat(R"("think":false)")).wants_thinking);
  EXPECT_EQ(Read(Chat(R"("think":"low")")).chat.template_variables,
            ordered_json::parse(R"({"enable_thinking":true,"reasoning_effort":"low"})"));
  EXPECT_TRUE(Read(Chat(R"("think":"low")")).wants_thinking);
}

TEST(OllamaChatRequestTest, AnswersOfToolsFindTheirCalls) {
  const OllamaRequest request =
      Read(R"({"messages":[{"role":"user","content":"Hi"},)"
           R"({"role":"assistant","thinking":"hm","tool_calls":[)"
           R"({"function":{"name":"a","arguments":{"x":1}}},)"
           R"({"function":{"name":"b","arguments":{}}},{"id":"mine","function":{"name":"b"}}]},)"
           R"({"role":"tool","content":"1","tool_name":"b"},)"
           R"({"role":"tool","content":"2","tool_call_id":"mine"},)"
           R"({"role":"tool","content":"3"},{"role":"tool","content":"4"}]})");
  const ordered_json& messages = request.chat.messages;
  EXPECT_EQ(messages[1]["reasoning_content"], "hm");
  EXPECT_EQ(messages[1]["content"], "");
  EXPECT_EQ(messages[1]["tool_calls"][0]["id"], "call_1_0");
  EXPECT_EQ(messages[1]["tool_calls"][2]["id"], "mine");
  EXPECT_EQ(messages[2]["tool_call_id"], "call_1_1");
  EXPECT_EQ(messages[3]["tool_call_id"], "mine");
  EXPECT_EQ(messages[3]["name"], "b");
  EXPECT_EQ(messages[4]["tool_call_id"], "call_1_0");
  EXPECT_EQ(messages[5]["tool_call_id"], "call_unknown");
}

TEST(OllamaChatRequestTest, GoesOnWithTheAssistantsWords) {
  const OllamaRequest request =
      Read(R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]})");
  EXPECT_TRUE(request.chat.continue_final_message);
  EXPECT_FALSE(request.chat.add_generation_prompt);
}

TEST(OllamaChatRequestTest, NothingToSayLoads) {
  EXPECT_EQ(Read("{}").load, OllamaLoad::kLoad);
  EXPECT_EQ(Read(R"({"messages":[],"keep_alive":"5m"})").load, OllamaLoad::kLoad);
  for (const char* nothing : {"0", "\"0\"", "\"0s\""}) {
    EXPECT_EQ(Read(R"({"messages":[],"keep_alive":)" + std::string(nothing) + "}").load,
              OllamaLoad::kUnload);
  }
}

TEST(OllamaChatRequestTest, HowLongAModelStays) {
  EXPECT_EQ(Read(R"({"keep_alive":"5m"})").keep_alive, std::chrono::minutes(5));
  EXPECT_EQ(Read(R"({"keep_alive":0.5})").keep_alive, std::chrono::milliseconds(500));
  EXPECT_EQ(Read(R"({"keep_alive":-1})").keep_alive, std::chrono::milliseconds(-1));
  EXPECT_EQ(Read(R"({"keep_alive":null})").keep_alive, std::nullopt);
}

struct WrongBody {
  const char* fields;
  const char* param;
  const char* message;
};

class OllamaRefusalTest : public testing::TestWithParam<WrongBody> {};

TEST_P(OllamaRefusalTest, NamesTheField) {
  const ApiResult<OllamaRequest> request = ParseOllamaChatRequest(Chat(GetParam().fields));
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().param, GetParam().param);
  EXPECT_EQ(request.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, OllamaRefusalTest,
    testing::Values(
        WrongBody{R"("options":{"top_p":2})", "options.top_p",
                  "'options.top_p' must be a number from 0 to 1, not the number 2"},
        WrongBody{R"("options":{"num_ctx":-1})", "options.num_ctx",
                  "'options.num_ctx' must be an integer from 0 to 2147483647, not the number -1"},
        WrongBody{R"("options":{"penalize_newline":false})", "options.penalize_newline",
                  "'options.penalize_newline' is not supported by this server; leave it out"},
        WrongBody{R"("options":7)", "options", "'options' must be an object, not the number 7"},
        WrongBody{R"("format":"yaml")", "format",
                  "'format' must be \"json\" or a JSON schema (an object), not the string "
                  "\"yaml\""},
        WrongBody{R"("keep_alive":"soon")", "keep_alive",
                  "'keep_alive' must be a number of seconds or a duration, \"5m\", not the string "
                  "\"soon\""},
        WrongBody{R"("think":"hard")", "think",
                  "'think' must be true, false, \"low\", \"medium\", \"high\" or \"max\", not the "
                  "string \"hard\""}));

TEST(OllamaChatRequestTest, ImagesAreRefusedByName) {
  const ApiResult<OllamaRequest> request = ParseOllamaChatRequest(
      R"({"messages":[{"role":"user","content":"a"},{"role":"user","content":"b","images":["c"]}]})");
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().param, "messages[1].images");
  RequestRules rules;
  rules.drops_images = true;
  const auto left_out = ParseOllamaChatRequest(
      R"({"messages":[{"role":"user","content":"b","images":["c","d"]}]})", rules);
  ASSERT_TRUE(left_out) << left_out.error().message;
  EXPECT_EQ(left_out->chat.messages[0]["content"], "[image left out]\n[image left out]\nb");
  EXPECT_TRUE(
      ParseOllamaChatRequest(R"({"messages":[{"role":"user","content":"b","images":[]}]})"));
}

TEST(OllamaGenerateRequestTest, IsAConversationUnlessRaw) {
  const auto read = [](std::string_view body) {
    return ParseOllamaGenerateRequest(body).value_or(OllamaRequest());
  };
  EXPECT_EQ(
      read(R"({"prompt":"a","system":"b"})").chat.messages,
      ordered_json::parse(R"([{"role":"system","content":"b"},{"role":"user","content":"a"}])"));
  EXPECT_TRUE(read(R"({"prompt":"a","raw":true})").is_raw);
  EXPECT_TRUE(read(R"({"prompt":"a","suffix":"b"})").is_raw);
  EXPECT_EQ(read(R"({"prompt":""})").load, OllamaLoad::kLoad);
  EXPECT_EQ(read(R"({"keep_alive":0})").load, OllamaLoad::kUnload);
  for (const auto& [body, param] : {std::pair(R"({"prompt":"a","template":"b"})", "template"),
                                    {R"({"prompt":"a","context":[1]})", "context"},
                                    {R"({"prompt":"a","images":["b"]})", "images"},
                                    {R"({"prompt":"a","raw":true,"system":"b"})", "system"}}) {
    const ApiResult<OllamaRequest> request = ParseOllamaGenerateRequest(body);
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().param, param);
  }
}

TEST(OllamaEmbedRequestTest, ReadsOneTextOrSeveral) {
  const OllamaEmbedRequest request =
      ParseOllamaEmbedRequest(R"({"input":["a","b"],"truncate":false,"dimensions":3})").value();
  EXPECT_EQ(request.embedding.input.prompts.size(), 2U);
  EXPECT_FALSE(request.embedding.truncation.is_wanted);
  EXPECT_EQ(request.embedding.dimensions, 3);
  EXPECT_TRUE(ParseOllamaEmbedRequest(R"({"input":"a"})")->embedding.truncation.is_wanted);
  EXPECT_TRUE(ParseOllamaEmbedRequest(R"({"input":[]})")->embedding.input.prompts.empty());
  EXPECT_FALSE(ParseOllamaEmbeddingsRequest(R"({"prompt":"a"})")->embedding.normalizes);
}

}  // namespace
}  // namespace weft
