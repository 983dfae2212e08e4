// The body of /v1/responses: what is understood, and what is refused with which path.
#include "proto/responses/responses_request.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/responses/response_items.h"

namespace weft {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

std::string With(const std::string& fields) { return R"({"input":"Hi",)" + fields + "}"; }
std::string Input(const std::string& items) { return R"({"input":[)" + items + "]}"; }
constexpr auto kTools =
    R"("tools":[{"type":"function","name":"f"},{"type":"function","name":"g"}])";
std::string WithTools(const std::string& fields) { return With(kTools + ("," + fields)); }

ResponsesRequest Parsed(const std::string& body) {
  ApiResult<ResponsesRequest> request = ParseResponsesRequest(body);
  EXPECT_TRUE(request) << request.error().message;
  return *std::move(request);
}

ordered_json MessagesOf(const ResponsesRequest& request) {
  const std::vector<ordered_json> items(request.input.begin(), request.input.end());
  ApiResult<ordered_json> messages = MessagesOfItems(items, 0, request.instructions, request.tools);
  EXPECT_TRUE(messages) << messages.error().message;
  return *std::move(messages);
}

TEST(ResponsesRequestTest, FillsInDefaults) {
  const ResponsesRequest request = Parsed(R"({"input":"Hi"})");
  EXPECT_EQ(request.input.dump(), R"([{"type":"message","status":"completed","role":"user",)"
                                  R"("content":[{"type":"input_text","text":"Hi"}]}])");
  EXPECT_EQ(MessagesOf(request).dump(), R"([{"role":"user","content":"Hi"}])");
  EXPECT_FALSE(request.store.has_value());
  EXPECT_FALSE(request.background || request.chat.stream || request.chat.logprobs);
  EXPECT_TRUE(request.chat.parallel_tool_calls);
  EXPECT_FALSE(request.chat.max_tokens.has_value());
  EXPECT_EQ(request.chat.tool_choice.kind, ToolChoiceKind::kNone);
  EXPECT_EQ(request.echo["tool_choice"], "auto");
  EXPECT_EQ(request.chat.unknown_field_count, 0);
}

TEST(ResponsesRequestTest, ReadsEveryField) {
  const ResponsesRequest request = Parsed(WithTools(R"(
    "model":"m", "instructions":"i", "previous_response_id":"resp_1", "store":true,
    "stream":true, "stream_options":{"include_obfuscation":false},
    "include":["message.output_text.logprobs","reasoning.encrypted_content"], "top_logprobs":3,
    "tool_choice":{"type":"function","name":"g"}, "parallel_tool_calls":false,
    "max_output_tokens":7, "max_tool_calls":2, "reasoning":{"effort":"none","summary":"auto"},
    "text":{"format":{"type":"text"},"verbosity":"medium"}, "truncation":"disabled",
    "metadata":{"k":"v"}, "client_metadata":{"k":1}, "user":"u", "service_tier":"flex",
    "safety_identifier":"s", "prompt_cache_key":"p", "prompt_cache_retention":"24h", "temperature":0.5, "top_p":0.9,
    "seed":1, "stop":"x", "top_k":3, "chat_template_kwargs":{"a":1}, "documents":[{"text":"d"}])"));
  EXPECT_EQ(request.chat.model, "m");
  EXPECT_EQ(request.instructions, "i");
  EXPECT_EQ(request.previous_response_id, "resp_1");
  EXPECT_EQ(request.store, true);
  EXPECT_TRUE(request.chat.stream && request.chat.logprobs);
  EXPECT_TRUE(Parsed(With(R"("background":true)")).background);
  EXPECT_EQ(request.chat.top_logprobs, 3);
  EXPECT_EQ(request.chat.tool_choice.kind, ToolChoiceKind::kFunction);
  EXPECT_EQ(request.chat.tool_choice.function, "g");
  EXPECT_EQ(request.chat.tools.dump(), R"([{"type":"function","function":{"name":"f"}},)"
                                       R"({"type":"function","function":{"name":"g"}}])");
  EXPECT_FALSE(request.chat.parallel_tool_calls);
  EXPECT_EQ(request.chat.max_tokens, 7);
  EXPECT_EQ(request.chat.template_variables.dump(),
            R"({"a":1,"reasoning_effort":"none","enable_thinking":false})");
  EXPECT_EQ(request.chat.sampling.temperature, 0.5);
  EXPECT_EQ(request.chat.sampling.top_k, 3);
  EXPECT_EQ(request.chat.documents.size(), 1U);
  EXPECT_EQ(request.echo["metadata"].dump(), R"({"k":"v"})");
  EXPECT_EQ(request.echo["service_tier"], "default");  // every request is served alike
  EXPECT_EQ(request.echo["reasoning"].dump(), R"({"effort":"none","summary":"auto"})");
  EXPECT_EQ(request.chat.unknown_field_count, 0);
}

TEST(ResponsesRequestTest, NullMeansTheDefault) {
  const ResponsesRequest request = Parsed(With(
      R"("model":null,"tools":null,"tool_choice":null,"store":null,"include":null,"text":null,
         "reasoning":null,"truncation":null,"metadata":null,"max_output_tokens":null,"stream":null,
         "conversation":null,"prompt":null,"background":null,"previous_response_id":null)"));
  EXPECT_FALSE(request.store.has_value());
  EXPECT_EQ(request.chat.unknown_field_count, 0);
  EXPECT_EQ(Parsed(With(R"("surprise":1)")).chat.unknown_field_count, 1);
}

TEST(ResponsesRequestTest, AllowedToolsAreAllThatTheModelHearsOf) {
  const ResponsesRequest request = Parsed(WithTools(
      R"("tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"g"}]})"));
  EXPECT_EQ(request.chat.tool_choice.kind, ToolChoiceKind::kRequired);
  ASSERT_EQ(request.chat.tools.size(), 1U);
  EXPECT_EQ(request.chat.tools[0]["function"]["name"], "g");
  EXPECT_EQ(request.echo["tools"].size(), 2U);
}

TEST(ResponsesRequestTest, ItemsOfOneTurnAreOneMessage) {
  const ResponsesRequest request = Parsed(Input(R"(
    {"role":"developer","content":"d"},
    {"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]},
    {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],
     "content":[{"type":"reasoning_text","text":"t"}]},
    {"type":"message","role":"assistant","id":"msg_1","status":"completed",
     "content":[{"type":"output_text","text":"See.","annotations":[]}]},
    {"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
    {"type":"function_call","call_id":"c2","name":"g","arguments":"{\"a\":1}"},
    {"type":"function_call_output","call_id":"c2","output":"two"},
    {"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"one"}]},
    {"role":"assistant","content":"Done."},
    {"role":"assistant","content":[{"type":"refusal","refusal":"No."}]})"));
  EXPECT_EQ(MessagesOf(request), ordered_json::parse(R"([
    {"role":"developer","content":"d"},
    {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
    {"role":"assistant","content":"See.","reasoning_content":"t","tool_calls":[
      {"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},
      {"id":"c2","type":"function","function":{"name":"g","arguments":"{\"a\":1}"}}]},
    {"role":"tool","content":"two","tool_call_id":"c2","name":"g"},
    {"role":"tool","content":"one","tool_call_id":"c1","name":"f"},
    {"role":"assistant","content":"Done."},
    {"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}])"));
  EXPECT_EQ(request.input[3]["id"], "msg_1");
  EXPECT_FALSE(request.input[0].contains("id"));
}

TEST(ResponsesRequestTest, AnotherSpeakerEndsATurn) {
  const ResponsesRequest request = Parsed(Input(R"(
    {"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
    {"type":"function_call_output","call_id":"c1","output":"one"},
    {"type":"function_call","call_id":"c2","name":"f","arguments":"{}"},
    {"role":"user","content":"stop"},
    {"type":"reasoning","summary":[{"type":"summary_text","text":"s"}]},
    {"role":"assistant","content":"Yes."},{"role":"assistant","content":"Sir."})"));
  EXPECT_EQ(MessagesOf(request), ordered_json::parse(R"([
    {"role":"assistant","content":null,"tool_calls":[
      {"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
    {"role":"tool","content":"one","tool_call_id":"c1","name":"f"},
    {"role":"assistant","content":null,"tool_calls":[
      {"id":"c2","type":"function","function":{"name":"f","arguments":"{}"}}]},
    {"role":"user","content":"stop"},
    {"role":"assistant","content":"Yes.","reasoning_content":"s"},
    {"role":"assistant","content":"Sir."}])"));
}

TEST(ResponsesRequestTest, AnOutputNeedsItsCall) {
  const ResponsesRequest request = Parsed(Input(
      R"({"role":"user","content":"a"},{"type":"function_call_output","call_id":"c","output":"x"})"));
  const std::vector<ordered_json> items(request.input.begin(), request.input.end());
  const ApiResult<ordered_json> messages = MessagesOfItems(items, 0, {}, {});
  ASSERT_FALSE(messages);
  EXPECT_EQ(messages.error().param, "input[1].call_id");
  const ApiResult<ordered_json> none = MessagesOfItems({}, 0, {}, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().param, "input");
}

struct Refusal {
  std::string body;
  std::string param;
  std::string code = "invalid_value";
};

TEST(ResponsesRequestTest, RefusesByPath) {
  const std::string missing = "missing_required_parameter";
  const std::string parameter = "unsupported_parameter";
  const std::string value = "unsupported_value";
  const std::vector<Refusal> refusals = {
      {"[]", ""},
      {"{", "", "invalid_json"},
      {R"({"input":"a","input":"b"})", "input", "duplicate_key"},
      {"{}", "input", missing},
      {R"({"input":3})", "input"},
      {Input("3"), "input[0]"},
      {Input(R"({"type":"message","content":"a"})"), "input[0].role", missing},
      {Input(R"({"role":"tool","content":"a"})"), "input[0].role"},
      {Input(R"({"role":"user"})"), "input[0].content", missing},
      {Input(R"({"role":"user","content":[]})"), "input[0].content"},
      {Input(R"({"role":"user","content":[{"type":"input_image"}]})"), "input[0].content[0].type",
       value},
      {Input(R"({"role":"user","content":[{"type":"input_text"}]})"), "input[0].content[0].text",
       missing},
      {Input(R"({"role":"user","content":[{"type":"input_text","text":1}]})"),
       "input[0].content[0].text"},
      {Input(R"({"role":"user","content":"a","status":"odd"})"), "input[0].status"},
      {Input(R"({"role":"user","content":"a","id":3})"), "input[0].id"},
      {Input(R"({"role":"assistant","content":"a","phase":"end"})"), "input[0].phase"},
      {Input(R"({"type":"computer_call"})"), "input[0].type", value},
      {Input(R"({"type":"function_call","name":"f","arguments":"{}"})"), "input[0].call_id",
       missing},
      {Input(R"({"type":"function_call","call_id":"c","name":"f","arguments":{}})"),
       "input[0].arguments"},
      {Input(R"({"type":"function_call_output","call_id":"c"})"), "input[0].output", missing},
      {Input(R"({"type":"function_call_output","call_id":"c","output":[{"type":"input_file"}]})"),
       "input[0].output[0].type", value},
      {Input(R"({"type":"reasoning","summary":"s"})"), "input[0].summary"},
      {Input(R"({"type":"reasoning","summary":[{"type":"text","text":"s"}]})"),
       "input[0].summary[0].type"},
      {Input("{}"), "input[0].id", missing},
      {With(R"("instructions":["a"])"), "instructions"},
      {With(R"("tools":{})"), "tools"},
      {With(R"("tools":[{"type":"mystery"}])"), "tools[0].type", value},
      {With(R"("tools":[{"type":"function"}])"), "tools[0].name", missing},
      {With(R"("tools":[{"type":"function","name":"a b"}])"), "tools[0].name"},
      {With(R"("tools":[{"type":"function","name":"f","parameters":[]}])"), "tools[0].parameters"},
      {With(R"("tools":[{"type":"function","name":"f"},{"type":"function","name":"f"}])"),
       "tools[1].name"},
      {With(R"("tool_choice":"required")"), "tool_choice"},
      {With(R"("tool_choice":"some")"), "tool_choice"},
      {With(R"("tool_choice":3)"), "tool_choice"},
      {WithTools(R"("tool_choice":{"type":"function","name":"h"})"), "tool_choice.name"},
      {WithTools(R"("tool_choice":{"type":"function"})"), "tool_choice.name", missing},
      {WithTools(R"("tool_choice":{"type":"file_search"})"), "tool_choice.type", value},
      {WithTools(R"("tool_choice":{"type":"allowed_tools","tools":[]})"), "tool_choice.tools"},
      {WithTools(
           R"("tool_choice":{"type":"allowed_tools","tools":[{"type":"function","name":"h"}]})"),
       "tool_choice.tools[0].name"},
      {WithTools(R"("tool_choice":{"type":"allowed_tools","mode":3,"tools":[]})"),
       "tool_choice.mode"},
      {With(R"("include":"x")"), "include"},
      {With(R"("include":["x"])"), "include[0]"},
      {With(R"("top_logprobs":21)"), "top_logprobs"},
      {With(R"("max_output_tokens":0)"), "max_output_tokens"},
      {With(R"("max_output_tokens":1.5)"), "max_output_tokens"},
      {With(R"("max_output_tokens":3,"min_tokens":4)"), "min_tokens"},
      {With(R"("max_tool_calls":0)"), "max_tool_calls"},
      {With(R"("temperature":3)"), "temperature"},
      {With(R"("reasoning":"low")"), "reasoning"},
      {With(R"("reasoning":{"effort":"huge"})"), "reasoning.effort"},
      {With(R"("reasoning":{"effort":"low"},"chat_template_kwargs":{"reasoning_effort":"high"})"),
       "reasoning.effort"},
      {With(R"("reasoning":{"summary":3})"), "reasoning.summary"},
      {With(R"("text":{"format":{"type":"json_schema"}})"), "text.format.schema", missing},
      {With(R"("text":{"format":{"type":"grammar"}})"), "text.format.type", value},
      {With(R"("text":{"format":{}})"), "text.format.type"},
      {With(R"("text":{"verbosity":"loud"})"), "text.verbosity"},
      {With(R"("truncation":"some")"), "truncation"},
      {With(R"("metadata":[])"), "metadata"},
      {With(R"("metadata":{"a":1})"), "metadata.a"},
      {With(R"("metadata":{"a":")" + std::string(513, 'x') + R"("})"), "metadata.a"},
      {With(R"("metadata":{")" + std::string(65, 'k') + R"(":"x"})"),
       "metadata." + std::string(64, 'k')},
      {With(R"("store":"yes")"), "store"},
      {With(R"("background":true,"store":false)"), "background"},
      {With(R"("background":true,"stream":true)"), "stream", parameter},
      {With(R"("previous_response_id":3)"), "previous_response_id"},
      {With(R"("stream_options":{})"), "stream_options"},
      {With(R"("stream":true,"stream_options":{"include_obfuscation":1})"),
       "stream_options.include_obfuscation"},
      {With(R"("user":3)"), "user"},
      {With(R"("service_tier":3)"), "service_tier"},
      {With(R"("conversation":"conv_1")"), "conversation", parameter},
      {With(R"("prompt":{"id":"p"})"), "prompt", parameter},
      {With(R"("max_tokens":3)"), "max_tokens", parameter},
      {With(R"("n":2)"), "n", parameter},
      {With(R"("continue_final_message":true)"), "continue_final_message", parameter},
      {With(R"("chat_template_kwargs":{"messages":[]})"), "chat_template_kwargs.messages"},
  };
  for (const Refusal& refusal : refusals) {
    const ApiResult<ResponsesRequest> request = ParseResponsesRequest(refusal.body);
    ASSERT_FALSE(request) << refusal.body;
    EXPECT_EQ(request.error().param, refusal.param) << refusal.body;
    EXPECT_EQ(request.error().code, refusal.code) << refusal.body;
    EXPECT_EQ(request.error().status, 400);
    EXPECT_THAT(request.error().message, HasSubstr(refusal.param.substr(0, 30)));
  }
}

TEST(ResponsesRequestTest, MetadataIsBounded) {
  std::string pairs;
  for (int i = 0; i < 17; ++i) pairs += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":\"v\"";
  const ApiResult<ResponsesRequest> request =
      ParseResponsesRequest(With(R"("metadata":{)" + pairs + "}"));
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().param, "metadata");
}

}  // namespace
}  // namespace weft
