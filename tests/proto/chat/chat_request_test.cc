// Bodies of /v1/chat/completions: what is accepted, and what every refusal says.
#include "proto/chat/chat_request.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/chat/chat_messages.h"
#include "proto/json_reader.h"

namespace weft {
namespace {

using testing::HasSubstr;

// A body with one user message and these further fields.
std::string With(const std::string& fields) {
  return R"({"messages":[{"role":"user","content":"Hi"}])" + (fields.empty() ? "" : "," + fields) +
         "}";
}

constexpr std::string_view kWeatherTool =
    R"({"type":"function","function":{"name":"weather","parameters":{"type":"object"}}})";

std::string WithTool(const std::string& fields) {
  return With(R"("tools":[)" + std::string(kWeatherTool) + "]" +
              (fields.empty() ? "" : "," + fields));
}

std::string Conversation(const std::string& messages) {
  return R"({"messages":[)" + messages + "]}";
}

ChatRequest Parsed(const std::string& body) {
  ApiResult<ChatRequest> request = ParseChatRequest(body);
  EXPECT_TRUE(request) << body << ": " << (request ? "" : request.error().message);
  return request ? *std::move(request) : ChatRequest{};
}

ApiError Refused(const std::string& body) {
  const ApiResult<ChatRequest> request = ParseChatRequest(body);
  EXPECT_FALSE(request) << body.substr(0, 300);
  return request ? ApiError{} : request.error();
}

TEST(ChatRequestTest, FillsInDefaults) {
  const ChatRequest request = Parsed(With(""));
  EXPECT_EQ(request.model, std::nullopt);
  EXPECT_EQ(request.messages.size(), 1U);
  EXPECT_TRUE(request.tools.is_null());
  EXPECT_TRUE(request.documents.is_null());
  EXPECT_EQ(request.tool_choice.kind, ToolChoiceKind::kNone);
  EXPECT_TRUE(request.parallel_tool_calls);
  EXPECT_TRUE(request.add_generation_prompt);
  EXPECT_FALSE(request.continue_final_message);
  EXPECT_EQ(request.max_tokens, std::nullopt);
  EXPECT_EQ(request.n, 1);
  EXPECT_FALSE(request.logprobs || request.stream || request.include_usage);
  EXPECT_TRUE(request.template_variables.empty());
  EXPECT_EQ(request.unknown_field_count, 0);
}

TEST(ChatRequestTest, ReadsEveryField) {
  const ChatRequest request = Parsed(WithTool(R"(
    "model":"m", "n":3, "max_completion_tokens":7, "logprobs":true, "top_logprobs":5, "stream":true,
    "stream_options":{"include_usage":true}, "tool_choice":{"type":"function","function":{"name":"weather"}},
    "parallel_tool_calls":false, "chat_template_kwargs":{"enable_thinking":false},
    "reasoning_effort":"low", "documents":[{"text":"a"}], "temperature":0.5, "stop":"x",
    "response_format":{"type":"text"}, "modalities":["text"], "user":"u", "metadata":{"a":"b"},
    "store":true, "service_tier":"auto", "safety_identifier":"s", "prompt_cache_key":"k",
    "prediction":{"type":"content","content":"x"}, "verbosity":"low")"));
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.n, 3);
  EXPECT_EQ(request.max_tokens, 7);
  EXPECT_TRUE(request.logprobs && request.stream && request.include_usage);
  EXPECT_EQ(request.top_logprobs, 5);
  EXPECT_EQ(request.tool_choice.kind, ToolChoiceKind::kFunction);
  EXPECT_EQ(request.tool_choice.function, "weather");
  EXPECT_FALSE(request.parallel_tool_calls);
  EXPECT_EQ(request.template_variables["enable_thinking"], false);
  EXPECT_EQ(request.template_variables["reasoning_effort"], "low");
  EXPECT_EQ(request.documents.size(), 1U);
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.stop.size(), 1U);
  EXPECT_EQ(request.unknown_field_count, 0);
}

TEST(ChatRequestTest, NullMeansTheDefault) {
  const ChatRequest request = Parsed(With(
      R"("model":null,"tools":null,"tool_choice":null,"n":null,"max_tokens":null,"stop":null,
         "response_format":null,"stream_options":null,"metadata":null,"functions":null)"));
  EXPECT_EQ(request.n, 1);
  EXPECT_EQ(request.unknown_field_count, 0);
}

TEST(ChatRequestTest, CountsUnknownFields) {
  EXPECT_EQ(Parsed(With(R"("surprise":1,"more":{"a":[]})")).unknown_field_count, 2);
}

TEST(ChatRequestTest, KeepsTheOrderOfWhatTemplatesPrint) {
  const ChatRequest request = Parsed(With(
      R"("tools":[{"type":"function","function":{"name":"f","parameters":{"z":1,"a":2,"m":3}}}])"));
  EXPECT_EQ(request.tools[0]["function"]["parameters"].dump(), R"({"z":1,"a":2,"m":3})");
}

TEST(ChatRequestTest, OfAllowedToolsTheModelHearsAlone) {
  const ChatRequest request = Parsed(With(R"("tools":[{"type":"function","function":{"name":"f"}},
                       {"type":"function","function":{"name":"g"}},
                       {"type":"function","function":{"name":"h"}}],
              "tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[
                {"type":"function","function":{"name":"h"}},
                {"type":"function","function":{"name":"g"}}]}})"));
  EXPECT_EQ(request.tool_choice.kind, ToolChoiceKind::kRequired);
  ASSERT_EQ(request.tools.size(), 2U);
  EXPECT_EQ(request.tools[0]["function"]["name"], "g");
  EXPECT_EQ(request.tools[1]["function"]["name"], "h");
  EXPECT_EQ(request.tool_paths.FunctionOf(0), "tools[1].function");
  EXPECT_EQ(request.tool_paths.FunctionOf(1), "tools[2].function");
  EXPECT_EQ(Parsed(WithTool("")).tool_paths.FunctionOf(0), "tools[0].function");
}

TEST(ChatRequestTest, OldAndNewNameOfTheLengthMayAgree) {
  EXPECT_EQ(Parsed(With(R"("max_tokens":5)")).max_tokens, 5);
  EXPECT_EQ(Parsed(With(R"("max_tokens":5)")).max_tokens_path, "max_tokens");
  EXPECT_EQ(Parsed(With("")).max_tokens_path, "max_completion_tokens");
  EXPECT_EQ(Parsed(With(R"("max_tokens":5,"max_completion_tokens":5)")).max_tokens, 5);
}

TEST(ChatRequestTest, ToolsMakeTheModelFreeToCall) {
  EXPECT_EQ(Parsed(WithTool("")).tool_choice.kind, ToolChoiceKind::kAuto);
  EXPECT_EQ(Parsed(WithTool(R"("tool_choice":"none")")).tool_choice.kind, ToolChoiceKind::kNone);
  EXPECT_EQ(Parsed(WithTool(R"("tool_choice":"required")")).tool_choice.kind,
            ToolChoiceKind::kRequired);
  const ChatRequest none = Parsed(With(R"("tools":[])"));
  EXPECT_TRUE(none.tools.is_null());
  EXPECT_EQ(none.tool_choice.kind, ToolChoiceKind::kNone);
  EXPECT_EQ(Parsed(With(R"("tool_choice":"auto")")).tool_choice.kind, ToolChoiceKind::kNone);
}

TEST(ChatRequestTest, TakesEveryRoleAndShapeOfContent) {
  const ChatRequest request = Parsed(Conversation(R"(
    {"role":"system","content":"s","name":"n"},
    {"role":"developer","content":[{"type":"text","text":"d"}]},
    {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
    {"role":"assistant","content":null,"refusal":"no"},
    {"role":"assistant","tool_calls":[
      {"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},
      {"function":{"name":"g","arguments":{"b":2}}}]},
    {"role":"tool","tool_call_id":"1","content":"42"},
    {"role":"assistant","content":[{"type":"refusal","refusal":"no"}],"tool_calls":[]},
    {"role":"assistant","reasoning_content":"hm","content":""},
    {"role":"assistant","content":null})"));
  ASSERT_EQ(request.messages.size(), 9U);
  EXPECT_FALSE(request.messages[6].contains("tool_calls"));
  EXPECT_EQ(request.messages[7]["reasoning_content"], "hm");
}

TEST(ChatRequestTest, ContinuesTheFinalMessage) {
  const std::string messages =
      R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],)";
  const ChatRequest request = Parsed(messages + R"("continue_final_message":true})");
  EXPECT_TRUE(request.continue_final_message);
  EXPECT_FALSE(request.add_generation_prompt);
  EXPECT_FALSE(Parsed(messages + R"("add_generation_prompt":false})").add_generation_prompt);
  EXPECT_EQ(
      Refused(messages + R"("continue_final_message":true,"add_generation_prompt":true})").param,
      "add_generation_prompt");
  for (const char* const empty : {"\"\"", "null"}) {
    EXPECT_TRUE(Parsed(R"({"messages":[{"role":"assistant","content":)" + std::string(empty) +
                       R"(}],"continue_final_message":true})")
                    .continue_final_message);
  }
}

struct RefusalCase {
  std::string body;
  std::string param;
  std::string message;
  std::string code = "invalid_value";
};

class ChatRefusalTest : public testing::TestWithParam<RefusalCase> {};

TEST_P(ChatRefusalTest, NamesFieldAndReason) {
  const ApiError error = Refused(GetParam().body);
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.param, GetParam().param);
  EXPECT_EQ(error.code, GetParam().code);
  EXPECT_THAT(error.message, HasSubstr(GetParam().message));
}

constexpr auto kMissing = "missing_required_parameter";
constexpr auto kUnsupported = "unsupported_parameter";

const RefusalCase kMessageRefusals[] = {
    {"[]", "", "must be a JSON object"},
    {"{}", "messages", "is missing", kMissing},
    {R"({"messages":null})", "messages", "is missing", kMissing},
    {R"({"messages":"Hi"})", "messages", "must be an array"},
    {R"({"messages":[]})", "messages", "at least one message, not an empty array"},
    {Conversation("5"), "messages[0]", "must be an object, not the number 5"},
    {Conversation("{}"), "messages[0].role", "is missing", kMissing},
    {Conversation(R"({"role":5})"), "messages[0].role", "must be a string"},
    {Conversation(R"({"role":"robot","content":""})"), "messages[0].role", "one of system"},
    {Conversation(R"({"role":"user"})"), "messages[0].content", "is missing", kMissing},
    {Conversation(R"({"role":"user","content":null})"), "messages[0].content", "missing", kMissing},
    {Conversation(R"({"role":"assistant"})"), "messages[0].content", "tool_calls", kMissing},
    {Conversation(R"({"role":"user","content":5})"), "messages[0].content", "a string or an array"},
    {Conversation(R"({"role":"user","content":[]})"), "messages[0].content", "at least one"},
    {Conversation(R"({"role":"user","content":["a"]})"), "messages[0].content[0]", "an object"},
    {Conversation(R"({"role":"user","content":[{"text":"a"}]})"), "messages[0].content[0].type",
     "is missing", kMissing},
    {Conversation(R"({"role":"user","content":[{"type":"text"}]})"), "messages[0].content[0].text",
     "is missing", kMissing},
    {Conversation(R"({"role":"user","content":[{"type":"text","text":1}]})"),
     "messages[0].content[0].text", "must be a string"},
    {Conversation(R"({"role":"user","content":"a"},
                     {"role":"user","content":[{"type":"text","text":""},{"type":"image_url"}]})"),
     "messages[1].content[1].type", "'image_url'", "unsupported_value"},
    {Conversation(R"({"role":"user","content":[{"type":"refusal","refusal":"x"}]})"),
     "messages[0].content[0].type", "'refusal'", "unsupported_value"},
    {Conversation(R"({"role":"user","content":"a","name":5})"), "messages[0].name", "a string"},
    {Conversation(R"({"role":"user","content":"a","tool_calls":[]})"), "messages[0].tool_calls",
     "only an assistant"},
    {Conversation(R"({"role":"assistant","tool_calls":{}})"), "messages[0].tool_calls", "an array"},
    {Conversation(R"({"role":"assistant","tool_calls":[5]})"), "messages[0].tool_calls[0]",
     "an object"},
    {Conversation(R"({"role":"assistant","tool_calls":[{"type":"custom"}]})"),
     "messages[0].tool_calls[0].type", "\"function\""},
    {Conversation(R"({"role":"assistant","tool_calls":[{"id":1}]})"),
     "messages[0].tool_calls[0].id", "a string"},
    {Conversation(R"({"role":"assistant","tool_calls":[{}]})"),
     "messages[0].tool_calls[0].function", "is missing", kMissing},
    {Conversation(R"({"role":"assistant","tool_calls":[{"function":{}}]})"),
     "messages[0].tool_calls[0].function.name", "is missing", kMissing},
    {Conversation(
         R"({"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":[]}}]})"),
     "messages[0].tool_calls[0].function.arguments", "a string of JSON"},
    {Conversation(R"({"role":"assistant","content":"","function_call":{}})"),
     "messages[0].function_call", "tool_calls", "unsupported_value"},
    {Conversation(R"({"role":"tool","content":"a"})"), "messages[0].tool_call_id", "is missing",
     kMissing},
    {Conversation(R"({"role":"tool","content":"a","tool_call_id":5})"), "messages[0].tool_call_id",
     "a string"},
};
INSTANTIATE_TEST_SUITE_P(Messages, ChatRefusalTest, testing::ValuesIn(kMessageRefusals));

std::string Allowed(const std::string& allowed) {
  return WithTool(R"("tool_choice":{"type":"allowed_tools","allowed_tools":)" + allowed + "}");
}

std::string Tool(const std::string& function) {
  return With(R"("tools":[{"type":"function","function":)" + function + "}]");
}

const RefusalCase kToolRefusals[] = {
    {With(R"("tools":{})"), "tools", "an array"},
    {With(R"("tools":[5])"), "tools[0]", "an object"},
    {With(R"("tools":[{}])"), "tools[0].type", "is missing", kMissing},
    {With(R"("tools":[{"type":"custom"}])"), "tools[0].type", "\"function\"", "unsupported_value"},
    {With(R"("tools":[{"type":"function"}])"), "tools[0].function", "is missing", kMissing},
    {Tool("5"), "tools[0].function", "an object"},
    {Tool("{}"), "tools[0].function.name", "is missing", kMissing},
    {Tool(R"({"name":""})"), "tools[0].function.name", "1 to 128"},
    {Tool(R"({"name":"a b"})"), "tools[0].function.name", "1 to 128"},
    {Tool("{\"name\":\"" + std::string(129, 'a') + "\"}"), "tools[0].function.name", "1 to 128"},
    {Tool(R"({"name":"a","description":5})"), "tools[0].function.description", "a string"},
    {Tool(R"({"name":"a","parameters":[]})"), "tools[0].function.parameters", "an object"},
    {Tool(R"({"name":"a","strict":1})"), "tools[0].function.strict", "true or false"},
    {With(R"("tools":[{"type":"function","function":{"name":"a"}},
                      {"type":"function","function":{"name":"a"}}])"),
     "tools[1].function.name", "names must differ"},
    {With(R"("tool_choice":"required")"), "tool_choice", "no 'tools'"},
    {WithTool(R"("tool_choice":"maybe")"), "tool_choice", "none, auto, required"},
    {WithTool(R"("tool_choice":{})"), "tool_choice.type", "function", kUnsupported},
    {WithTool(R"("tool_choice":{"type":"allowed_tools"})"), "tool_choice.allowed_tools",
     "which tools may be called", kMissing},
    {Allowed("5"), "tool_choice.allowed_tools", "an object"},
    {Allowed(R"({"mode":"any","tools":[]})"), "tool_choice.allowed_tools.mode", "\"required\""},
    {Allowed(R"({"mode":"auto"})"), "tool_choice.allowed_tools.tools", "is missing", kMissing},
    {Allowed(R"({"mode":"auto","tools":[]})"), "tool_choice.allowed_tools.tools", "at least one"},
    {Allowed(R"({"tools":[{"type":"function","name":"weather"}]})"),
     "tool_choice.allowed_tools.tools[0].function", "is missing", kMissing},
    {Allowed(R"({"tools":[{"type":"function","function":{"name":"time"}}]})"),
     "tool_choice.allowed_tools.tools[0].function.name", "no tool"},
    {WithTool(R"("tool_choice":{"type":"function"})"), "tool_choice.function.name", "name of"},
    {WithTool(R"("tool_choice":{"type":"function","function":{"name":"time"}})"),
     "tool_choice.function.name", "no tool"},
    {WithTool(R"("parallel_tool_calls":"no")"), "parallel_tool_calls", "true or false"},
    {With(R"("functions":[])"), "functions", "'tools'", kUnsupported},
    {With(R"("function_call":"auto")"), "function_call", "'tool_choice'", kUnsupported},
};
INSTANTIATE_TEST_SUITE_P(Tools, ChatRefusalTest, testing::ValuesIn(kToolRefusals));

const RefusalCase kFieldRefusals[] = {
    {With(R"("model":5)"), "model", "a string"},
    {With(R"("n":0)"), "n", "from 1 to 128"},
    {With(R"("max_tokens":0)"), "max_tokens", "from 1"},
    {With(R"("max_completion_tokens":0)"), "max_completion_tokens", "from 1"},
    {With(R"("max_completion_tokens":5,"max_tokens":6)"), "max_tokens", "send one"},
    {With(R"("max_tokens":3,"min_tokens":4)"), "min_tokens", "more than"},
    {With(R"("temperature":-1)"), "temperature", "from 0 to 2"},
    {With(R"("temperature":NaN)"), "", "not valid JSON", "invalid_json"},
    {With(R"("temperature":1e999)"), "", "out of the range", "invalid_json"},
    {With(R"("logprobs":1)"), "logprobs", "true or false"},
    {With(R"("logprobs":true,"top_logprobs":21)"), "top_logprobs", "from 0 to 20"},
    {With(R"("top_logprobs":2)"), "top_logprobs", "'logprobs': true"},
    {With(R"("stream":1)"), "stream", "true or false"},
    {With(R"("stream_options":{})"), "stream_options", "'stream': true"},
    {With(R"("stream":true,"stream_options":5)"), "stream_options", "an object"},
    {With(R"("stream":true,"stream_options":{"include_usage":5})"), "stream_options.include_usage",
     "true or false"},
    {With(R"("modalities":["text","audio"])"), "modalities", "text", kUnsupported},
    {With(R"("audio":{})"), "audio", "not supported", kUnsupported},
    {With(R"("web_search_options":3)"), "web_search_options", "not supported", kUnsupported},
    {With(R"("moderation":{})"), "moderation", "not supported", kUnsupported},
    {With(R"("verbosity":"loud")"), "verbosity", "one of low, medium and high"},
    {With(R"("chat_template":"{{ x }}")"), "chat_template", "not supported", kUnsupported},
    {With(R"("chat_template_kwargs":[])"), "chat_template_kwargs", "an object"},
    {With(R"("chat_template_kwargs":{"messages":[]})"), "chat_template_kwargs.messages",
     "of the request itself"},
    {With(R"("chat_template_kwargs":{"continue_final_message":true})"),
     "chat_template_kwargs.continue_final_message", "of the request itself"},
    {With(R"("chat_template_kwargs":{"bos_token":"x"})"), "chat_template_kwargs.bos_token",
     "the model's own"},
    {With(R"("documents":["a"])"), "documents", "array of objects"},
    {With(R"("reasoning_effort":5)"), "reasoning_effort", "a string"},
    {With(R"("continue_final_message":true)"), "continue_final_message", "of the assistant"},
    {With(R"("metadata":[])"), "metadata", "an object"},
    {With(R"("prompt_logprobs":1)"), "prompt_logprobs", "not supported", kUnsupported},
    {With(R"("reasoning_format":"none")"), "reasoning_format", "not supported", kUnsupported},
    {With(R"("chat_template_kwargs":{"reasoning_effort":"low"},"reasoning_effort":"high")"),
     "reasoning_effort", "differ"},
    {R"({"messages":[{"role":"assistant","content":"a"}],"continue_final_message":true,
         "tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":"required"})",
     "tool_choice", "the rest of the last message"},
    {With(R"("user":5)"), "user", "a string"},
    {With(R"("store":"yes")"), "store", "true or false"},
    {With(R"("service_tier":1)"), "service_tier", "a string"},
};
INSTANTIATE_TEST_SUITE_P(Fields, ChatRefusalTest, testing::ValuesIn(kFieldRefusals));

TEST(ChatRequestTest, RefusesMoreValuesThanTheLimitOfWhichEightNumbersAreOne) {
  std::string body = R"({"messages":[{"role":"user","content":"a"}],"x":[1)";  // six, and a number
  for (int64_t i = 1; i < 8 * (kMaxJsonValues - 6) + 7; ++i) body += ",1";
  EXPECT_EQ(Parsed(body + "]}").unknown_field_count, 1);
  const ApiError error = Refused(body + ",1]}");
  EXPECT_EQ(error.code, "too_many_values");
  EXPECT_EQ(error.param, "x[1048535]");
}

TEST(ChatRequestTest, NumbersAreValuesWhereTheyAreMembers) {
  std::string body = R"({"messages":[{"role":"user","content":"a"}],"x":{"k":1)";  // seven
  for (int64_t i = 7; i < kMaxJsonValues; ++i) body += ",\"" + std::to_string(i) + "\":1";
  EXPECT_EQ(Parsed(body + "}}").unknown_field_count, 1);
  EXPECT_EQ(Refused(body + ",\"l\":1}}").code, "too_many_values");
}

TEST(ChatRequestTest, RefusesDeepNestingWithoutRecursion) {
  std::string deep = R"({"messages":)";
  deep.append(10'000, '[');
  EXPECT_EQ(Refused(deep).code, "json_too_deep");
  EXPECT_TRUE(Refused(deep).param.starts_with("messages[0][0]"));
  std::string objects = R"({"messages":[{"role":"user","content":)";
  for (int i = 0; i < 10'000; ++i) objects += R"({"a":)";
  EXPECT_TRUE(Refused(objects).param.starts_with("messages[0].content.a.a"));
  EXPECT_LT(Refused(objects).param.size(), 310U);
}

TEST(ChatRequestTest, RefusesDuplicateKeysInLargeObjectsToo) {
  EXPECT_EQ(Refused(Conversation(R"({"role":"user","content":"a","role":"user"})")).param,
            "messages[0].role");
  std::string metadata = R"("metadata":{)";
  for (int i = 0; i < 100'000; ++i) metadata += "\"k" + std::to_string(i) + "\":1,";
  EXPECT_EQ(Parsed(With(metadata + R"("last":1})")).unknown_field_count, 0);
  const ApiError error = Refused(With(metadata + R"("k7":1})"));
  EXPECT_EQ(error.code, "duplicate_key");
  EXPECT_EQ(error.param, "metadata.k7");
}

TEST(ChatRequestTest, RefusesWhatIsNotUnicode) {
  EXPECT_THAT(Refused(Conversation(R"({"role":"user","content":"\ud800"})")).message,
              HasSubstr("surrogate"));
  EXPECT_EQ(Refused(Conversation("{\"role\":\"user\",\"content\":\"\xff\"}")).code, "invalid_json");
}

TEST(ChatRequestTest, TakesManyToolsButNotAnyNumber) {
  std::string tools;
  for (int i = 0; i <= kMaxTools; ++i) {
    tools += (i == 0 ? "" : ",") +
             (R"({"type":"function","function":{"name":"f)" + std::to_string(i) + "\"}}");
  }
  EXPECT_THAT(Refused(With(R"("tools":[)" + tools + "]")).message, HasSubstr("at most 256"));
}

TEST(ChatRequestTest, TakesAHundredMegabytes) {
  std::string text;
  text.resize(100'000'000, 'x');
  const ChatRequest request = Parsed(Conversation(R"({"role":"user","content":")" + text + "\"}"));
  EXPECT_EQ(request.messages[0]["content"].get<std::string>().size(), text.size());
  EXPECT_LT(Refused(Conversation(R"({"role":")" + text + "\"}")).message.size(), 300U);
}

}  // namespace
}  // namespace weft
