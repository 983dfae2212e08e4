// Bodies of /v1/messages: what chats they become, and what every refusal says.
#include "proto/messages/messages_request.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

// A body with one message of the user and these further fields.
std::string With(const std::string& fields) {
  return R"({"max_tokens":2000,"messages":[{"role":"user","content":"Hi"}])" +
         (fields.empty() ? "" : "," + fields) + "}";
}

constexpr std::string_view kTool =
    R"("tools":[{"name":"weather","description":"d","input_schema":{"type":"object"}}])";

std::string WithTool(const std::string& fields) {
  return With(std::string(kTool) + (fields.empty() ? "" : "," + fields));
}

std::string Conversation(const std::string& messages) {
  return R"({"max_tokens":9,"messages":[)" + messages + "]}";
}

// One message of the user with this content.
std::string Content(const std::string& blocks, const std::string& role = "user") {
  return Conversation(R"({"role":")" + role + R"(","content":)" + blocks + "}" +
                      (role == "user" ? "" : R"(,{"role":"user","content":"x"})"));
}

MessagesRequest Parsed(const std::string& body) {
  ApiResult<MessagesRequest> request = ParseMessagesRequest(body);
  EXPECT_TRUE(request) << body << ": " << (request ? "" : request.error().message);
  return request ? *std::move(request) : MessagesRequest{};
}

// The messages that the template gets.
ordered_json MessagesOf(const std::string& body) { return Parsed(body).chat.messages; }

TEST(MessagesRequestTest, FillsInDefaults) {
  const MessagesRequest request = Parsed(With(""));
  const ChatRequest& chat = request.chat;
  EXPECT_EQ(chat.model, std::nullopt);
  EXPECT_EQ(chat.max_tokens, 2000);
  EXPECT_EQ(chat.n, 1);
  EXPECT_FALSE(chat.stream || chat.logprobs || request.omits_thinking);
  EXPECT_TRUE(chat.tools.is_null());
  EXPECT_EQ(chat.tool_choice.kind, ToolChoiceKind::kNone);
  EXPECT_TRUE(chat.add_generation_prompt);
  EXPECT_FALSE(chat.continue_final_message);
  EXPECT_TRUE(chat.template_variables.empty());
  EXPECT_EQ(chat.messages_path, "messages");
  EXPECT_EQ(chat.max_tokens_path, "max_tokens");
  EXPECT_EQ(chat.unknown_field_count, 0);
  EXPECT_EQ(Parsed(With(R"("new_thing":1,"stop_sequences":[])")).chat.unknown_field_count, 1);
}

TEST(MessagesRequestTest, TheSystemPromptIsTheFirstMessage) {
  EXPECT_EQ(MessagesOf(With(R"("system":"Be nice.")")).dump(),
            R"([{"role":"system","content":[{"type":"text","text":"Be nice."}]},)"
            R"({"role":"user","content":[{"type":"text","text":"Hi"}]}])");
  const ordered_json blocks =
      MessagesOf(With(R"("system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},
                        {"type":"text","text":"b"}])"));
  EXPECT_EQ(
      blocks[0].dump(),
      R"({"role":"system","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]})");
  EXPECT_EQ(MessagesOf(With(R"("system":[])")).size(), 1U);
}

TEST(MessagesRequestTest, ToolsAndTheirResults) {
  const ordered_json messages = MessagesOf(Conversation(
      R"({"role":"user","content":"Weather?"},
         {"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"s"},
           {"type":"redacted_thinking","data":"x"},{"type":"text","text":"Let me see."},
           {"type":"tool_use","id":"t1","name":"weather","input":{"city":"Oslo"}},
           {"type":"tool_use","id":"t2","name":"weather","input":{}}]},
         {"role":"user","content":[
           {"type":"tool_result","tool_use_id":"t1","content":"sun"},
           {"type":"tool_result","tool_use_id":"t2","is_error":true,
            "content":[{"type":"text","text":"rain"}]},
           {"type":"tool_result","tool_use_id":"t3"},
           {"type":"text","text":"So?"}]})"));
  EXPECT_EQ(messages, ordered_json::parse(R"([
    {"role":"user","content":[{"type":"text","text":"Weather?"}]},
    {"role":"assistant","content":[{"type":"text","text":"Let me see."}],
     "reasoning_content":"Hm.","tool_calls":[
      {"id":"t1","type":"function","function":{"name":"weather","arguments":{"city":"Oslo"}}},
      {"id":"t2","type":"function","function":{"name":"weather","arguments":{}}}]},
    {"role":"tool","tool_call_id":"t1","name":"weather","content":"sun"},
    {"role":"tool","tool_call_id":"t2","name":"weather",
     "content":[{"type":"text","text":"rain"}],"is_error":true},
    {"role":"tool","tool_call_id":"t3","content":""},
    {"role":"user","content":[{"type":"text","text":"So?"}]}])"));
}

TEST(MessagesRequestTest, NeighboursOfOneRoleAreOneTurn) {
  EXPECT_EQ(
      MessagesOf(Conversation(R"({"role":"user","content":"a"},{"role":"user","content":"b"})"))
          .dump(),
      R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])");
  // Text behind a call stays behind it.
  const ordered_json messages = MessagesOf(
      Content(R"([{"type":"tool_use","id":"t1","name":"f","input":{}},{"type":"text","text":"b"}])",
              "assistant"));
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_TRUE(messages[0]["content"].is_null());
  EXPECT_EQ(messages[1]["content"][0]["text"], "b");
}

TEST(MessagesRequestTest, TheAssistantsLastWordsAreContinued) {
  const MessagesRequest request = Parsed(Conversation(
      R"({"role":"user","content":"a"},{"role":"assistant","content":"The answer is"})"));
  EXPECT_TRUE(request.chat.continue_final_message);
  EXPECT_FALSE(request.chat.add_generation_prompt);
  for (const std::string empty :
       {R"("")", R"([{"type":"text","text":" "}])", R"([{"type":"thinking","thinking":"hm"}])"}) {
    EXPECT_TRUE(Parsed(Conversation(R"({"role":"user","content":"a"},
                                       {"role":"assistant","content":)" +
                                    empty + "}"))
                    .chat.continue_final_message);
  }
}

TEST(MessagesRequestTest, Tools) {
  const MessagesRequest request = Parsed(With(
      R"("tools":[{"name":"f","description":"d","input_schema":{"type":"object","z":1,"a":2},
          "cache_control":{"type":"ephemeral"},"strict":true},
         {"type":"custom","name":"g","input_schema":{}}])"));
  EXPECT_EQ(request.chat.tools.dump(),
            R"([{"type":"function","function":{"name":"f","description":"d",)"
            R"("parameters":{"type":"object","z":1,"a":2},"strict":true}},)"
            R"({"type":"function","function":{"name":"g","parameters":{}}}])");
  EXPECT_EQ(request.chat.tool_choice.kind, ToolChoiceKind::kAuto);
  EXPECT_TRUE(Parsed(With(R"("tools":[])")).chat.tools.is_null());
}

TEST(MessagesRequestTest, ToolChoice) {
  const auto choice = [](const std::string& value) {
    return Parsed(WithTool(R"("tool_choice":)" + value)).chat;
  };
  EXPECT_EQ(choice(R"({"type":"auto"})").tool_choice.kind, ToolChoiceKind::kAuto);
  EXPECT_EQ(choice(R"({"type":"any"})").tool_choice.kind, ToolChoiceKind::kRequired);
  EXPECT_EQ(choice(R"({"type":"none"})").tool_choice.kind, ToolChoiceKind::kNone);
  const ChatRequest named =
      choice(R"({"type":"tool","name":"weather","disable_parallel_tool_use":true})");
  EXPECT_EQ(named.tool_choice.kind, ToolChoiceKind::kFunction);
  EXPECT_EQ(named.tool_choice.function, "weather");
  EXPECT_FALSE(named.parallel_tool_calls);
}

TEST(MessagesRequestTest, Thinking) {
  const auto enable_thinking = [](const std::string& value) {
    return Parsed(With(R"("thinking":)" + value)).chat.template_variables["enable_thinking"];
  };
  EXPECT_EQ(enable_thinking(R"({"type":"enabled","budget_tokens":1024})"), true);
  EXPECT_EQ(enable_thinking(R"({"type":"adaptive"})"), true);
  EXPECT_EQ(enable_thinking(R"({"type":"disabled"})"), false);
  EXPECT_FALSE(Parsed(With("")).chat.template_variables.contains("enable_thinking"));
  EXPECT_TRUE(Parsed(With(R"("thinking":{"type":"adaptive","display":"omitted"})")).omits_thinking);
  EXPECT_FALSE(
      Parsed(With(R"("thinking":{"type":"adaptive","display":"summarized"})")).omits_thinking);
  EXPECT_EQ(Parsed(With(R"("output_config":{"effort":"low"})"))
                .chat.template_variables["reasoning_effort"],
            "low");
}

TEST(MessagesRequestTest, Sampling) {
  const SamplingFields sampling =
      Parsed(With(R"("temperature":0.5,"top_p":0.9,"top_k":7,"seed":3,"stop_sequences":["a","b"],
                     "metadata":{"user_id":"u"},"service_tier":"auto","model":"m","stream":true)"))
          .chat.sampling;
  EXPECT_EQ(sampling.temperature, 0.5);
  EXPECT_EQ(sampling.top_p, 0.9);
  EXPECT_EQ(sampling.top_k, 7);
  EXPECT_EQ(sampling.seed, 3U);
  EXPECT_THAT(sampling.stop, ElementsAre("a", "b"));
}

TEST(MessagesRequestTest, CountTokensNeedsNoMaxTokens) {
  const std::string body = R"({"messages":[{"role":"user","content":"a"}],
                               "thinking":{"type":"enabled","budget_tokens":2147483647}})";
  EXPECT_TRUE(ParseCountTokensRequest(body));
  const ApiResult<MessagesRequest> refused = ParseMessagesRequest(body);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "max_tokens");
  EXPECT_EQ(refused.error().code, "missing_required_parameter");
}

struct Refusal {
  std::string body;
  std::string param;
  std::string message_part;
};

class MessagesRefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(MessagesRefusalTest, NamesThePath) {
  const Refusal& expected = GetParam();
  const ApiResult<MessagesRequest> request = ParseMessagesRequest(expected.body);
  ASSERT_FALSE(request) << expected.body;
  EXPECT_EQ(request.error().status, 400);
  EXPECT_EQ(request.error().param, expected.param) << expected.body;
  EXPECT_THAT(request.error().message, HasSubstr(expected.message_part)) << expected.body;
}

INSTANTIATE_TEST_SUITE_P(
    Conversations, MessagesRefusalTest,
    testing::Values(
        Refusal{"3", "", "must be a JSON object, not the number 3"},
        Refusal{R"({"max_tokens":1})", "messages", "'messages' is missing"},
        Refusal{R"({"max_tokens":1,"messages":[]})", "messages", "at least one message"},
        Refusal{R"({"max_tokens":1,"messages":"a"})", "messages", "not the string \"a\""},
        Refusal{Conversation("3"), "messages[0]", "must be an object"},
        Refusal{Conversation(R"({"content":"a"})"), "messages[0].role", "is missing"},
        Refusal{Conversation(R"({"role":"tool","content":"a"})"), "messages[0].role",
                "one of user, assistant and system"},
        Refusal{Conversation(R"({"role":"user"})"), "messages[0].content", "is missing"},
        Refusal{Content("[]"), "messages[0].content", "at least one block"},
        Refusal{Content("3"), "messages[0].content", "not the number 3"},
        Refusal{Content("[3]"), "messages[0].content[0]", "must be an object"},
        Refusal{Content("[{}]"), "messages[0].content[0].type", "is missing"},
        Refusal{Content(R"([{"type":"text"}])"), "messages[0].content[0].text", "is missing"},
        Refusal{Content(R"([{"type":"text","text":3}])"), "messages[0].content[0].text",
                "must be a string"},
        Refusal{Content(R"([{"type":"text","text":"a"},{"type":"image","source":{}}])"),
                "messages[0].content[1].type", "is 'image', but this server takes"},
        Refusal{Content(R"([{"type":"tool_use","id":"a","name":"f","input":{}}])"),
                "messages[0].content[0].type", "is 'tool_use', but this server takes"},
        Refusal{Content(R"([{"type":"tool_result","content":"a"}])"),
                "messages[0].content[0].tool_use_id", "is missing"},
        Refusal{Content(R"([{"type":"tool_result","tool_use_id":"a","content":3}])"),
                "messages[0].content[0].content", "a string or an array of text blocks"},
        Refusal{
            Content(R"([{"type":"tool_result","tool_use_id":"a","content":[{"type":"image"}]}])"),
            "messages[0].content[0].content[0].type", "is 'image'"},
        Refusal{Content(R"([{"type":"tool_result","tool_use_id":"a","is_error":1}])"),
                "messages[0].content[0].is_error", "true or false"},
        Refusal{Content(R"([{"type":"tool_use","name":"f","input":{}}])", "assistant"),
                "messages[0].content[0].id", "is missing"},
        Refusal{Content(R"([{"type":"tool_use","id":"a","input":{}}])", "assistant"),
                "messages[0].content[0].name", "is missing"},
        Refusal{Content(R"([{"type":"tool_use","id":"a","name":"f"}])", "assistant"),
                "messages[0].content[0].input", "is missing"},
        Refusal{Content(R"([{"type":"tool_use","id":"a","name":"f","input":"{}"}])", "assistant"),
                "messages[0].content[0].input", "must be an object"},
        Refusal{Content(R"([{"type":"thinking"}])", "assistant"), "messages[0].content[0].thinking",
                "is missing"},
        Refusal{Content(R"([{"type":"server_tool_use"}])", "assistant"),
                "messages[0].content[0].type", "is 'server_tool_use'"},
        Refusal{Conversation(R"({"role":"user","content":"a"},{"role":"assistant","content":
                  [{"type":"tool_use","id":"a","name":"f","input":{}}]})"),
                "messages[1]", "must have its tool_result"},
        Refusal{With(R"("system":3)"), "system", "a string or an array of text blocks"},
        Refusal{With(R"("system":[{"type":"image"}])"), "system[0].type", "is 'image'"}));

INSTANTIATE_TEST_SUITE_P(
    Fields, MessagesRefusalTest,
    testing::Values(
        Refusal{R"({"messages":[{"role":"user","content":"a"}]})", "max_tokens", "is missing"},
        Refusal{R"({"max_tokens":0,"messages":[{"role":"user","content":"a"}]})", "max_tokens",
                "an integer from 1"},
        Refusal{With(R"("model":1)"), "model", "must be a string"},
        Refusal{With(R"("stream":"yes")"), "stream", "true or false"},
        Refusal{With(R"("temperature":1.5)"), "temperature", "a number from 0 to 1, not"},
        Refusal{With(R"("top_p":2)"), "top_p", "a number from 0 to 1"},
        Refusal{With(R"("top_k":"a")"), "top_k", "an integer"},
        Refusal{With(R"("stop":"a")"), "stop", "is called 'stop_sequences' here"},
        Refusal{With(R"("stop_sequences":"a")"), "stop_sequences", "an array of at most 16"},
        Refusal{With(R"("stop_sequences":["a",""])"), "stop_sequences[1]", "1 to 1024 bytes"},
        Refusal{With(R"("stop_sequences":[3])"), "stop_sequences[0]", "not the number 3"},
        Refusal{With(R"("thinking":true)"), "thinking", "an object"},
        Refusal{With(R"("thinking":{})"), "thinking.type", "one of enabled, disabled and adaptive"},
        Refusal{With(R"("thinking":{"type":"on"})"), "thinking.type", "one of enabled"},
        Refusal{With(R"("thinking":{"type":"enabled"})"), "thinking.budget_tokens", "is missing"},
        Refusal{With(R"("thinking":{"type":"enabled","budget_tokens":1023})"),
                "thinking.budget_tokens", "from 1024"},
        Refusal{With(R"("thinking":{"type":"enabled","budget_tokens":2000})"),
                "thinking.budget_tokens", "less than 'max_tokens' (2000)"},
        Refusal{With(R"("thinking":{"type":"adaptive","display":"x"})"), "thinking.display",
                "one of summarized, omitted and updates"},
        Refusal{With(R"("output_config":5)"), "output_config", "an object"},
        Refusal{With(R"("output_config":{"effort":3})"), "output_config.effort", "a string"},
        Refusal{With(R"("metadata":"u")"), "metadata", "an object"},
        Refusal{With(R"("service_tier":3)"), "service_tier", "a string"},
        Refusal{With(R"("mcp_servers":[{}])"), "mcp_servers", "not supported"},
        Refusal{With(R"("speed":1)"), "speed", "a string"},
        Refusal{With(R"("diagnostics":1)"), "diagnostics", "an object"},
        Refusal{With(R"("compaction":{})"), "compaction", "not supported"},
        Refusal{With(R"("thread":{"type":"create"})"), "thread", "send them all"},
        Refusal{With(R"("tool_choice":{"type":"any"})"), "tool_choice", "there are no 'tools'"},
        Refusal{WithTool(R"("tool_choice":"auto")"), "tool_choice", "an object"},
        Refusal{WithTool(R"("tool_choice":{"type":"required"})"), "tool_choice.type",
                "one of auto, any, tool and none"},
        Refusal{WithTool(R"("tool_choice":{"type":"tool"})"), "tool_choice.name", "not null"},
        Refusal{WithTool(R"("tool_choice":{"type":"tool","name":"x"})"), "tool_choice.name",
                "no tool of 'tools'"},
        Refusal{WithTool(R"("tool_choice":{"type":"auto","disable_parallel_tool_use":1})"),
                "tool_choice.disable_parallel_tool_use", "true or false"},
        Refusal{R"({"max_tokens":9,"tools":[{"name":"f","input_schema":{}}],
                    "messages":[{"role":"assistant","content":"a"}],
                    "tool_choice":{"type":"any"}})",
                "tool_choice", "is to be continued"},
        Refusal{With(R"("tools":{})"), "tools", "an array of tools"},
        Refusal{With(R"("tools":[3])"), "tools[0]", "an object"},
        Refusal{With(R"("tools":[{"name":"f"}])"), "tools[0].input_schema", "is missing"},
        Refusal{With(R"("tools":[{"name":"f","input_schema":"a"}])"), "tools[0].input_schema",
                "a JSON schema"},
        Refusal{With(R"("tools":[{"input_schema":{}}])"), "tools[0].name", "is missing"},
        Refusal{With(R"("tools":[{"name":"a b","input_schema":{}}])"), "tools[0].name",
                "characters of"},
        Refusal{With(R"("tools":[{"name":"f","description":3,"input_schema":{}}])"),
                "tools[0].description", "a string"},
        Refusal{With(R"("tools":[{"name":"f","input_schema":{}},{"name":"f","input_schema":{}}])"),
                "tools[1].name", "names must differ"},
        Refusal{With(R"("tools":[{"type":"bash_20250124","name":"bash"}])"), "tools[0].type",
                "\"bash_20250124\", a tool that this server does not have"},
        Refusal{With(R"("tools":[{"type":"web_search_20250305","name":"web_search"}],
                        "tool_choice":{"type":"any"})"),
                "tool_choice", "there are no 'tools'"},
        Refusal{WithTool(R"("context_management":{"edits":[{"type":"compact_20260112"}]})"),
                "context_management.edits[0].type", "'compact_20260112', an edit that"},
        Refusal{With(R"("tools":[{"name":"f","input_schema":{},"defer_loading":1}])"),
                "tools[0].defer_loading", "must be true or false"}));

}  // namespace
}  // namespace weft
