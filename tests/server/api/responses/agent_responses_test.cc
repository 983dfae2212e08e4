// What agents use of /v1/responses: tools of every type, long conversations, compaction.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/responses/sealed_text.h"
#include "tests/server/responses_requests.h"
#include "tests/server/scripted_chat.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::StartsWith;

constexpr auto kTools = R"("tools":[{"type":"function","name":"weather"}])";

// A reply with one call.
std::string Calling(const std::string& name, const std::string& arguments) {
  return R"(<tool_call>{"name": ")" + name + R"(", "arguments": )" + arguments + "}</tool_call>";
}

TEST(AgentResponsesTest, ToolsOfNamespacesAreCalledByBothNames) {
  const TestServer server(Saying(Calling("crm__find", R"({"who": "Eve"})")));
  const json body = Created(server, R"("tools":[{"type":"namespace","name":"crm","description":"C.",
      "tools":[{"type":"function","name":"find"}]}])");
  ASSERT_EQ(body["output"].size(), 1U);
  EXPECT_EQ(body["output"][0]["type"], "function_call");
  EXPECT_EQ(body["output"][0]["namespace"], "crm");
  EXPECT_EQ(body["output"][0]["name"], "find");
  EXPECT_EQ(body["tools"][0]["tools"][0]["name"], "find");
  // What comes back is the same call for the model.
  const json next =
      Created(server, R"("previous_response_id":")" + body["id"].get<std::string>() + "\"",
              R"([{"type":"function_call_output","output":"x","call_id":")" +
                  body["output"][0]["call_id"].get<std::string>() + R"("}])");
  EXPECT_EQ(next["status"], "completed");
}

TEST(AgentResponsesTest, CustomToolsGetTextOfTheirGrammar) {
  const std::string tools = R"("tools":[{"type":"custom","name":"patch","format":{"type":"grammar",
      "syntax":"lark","definition":"start: \"*** Begin\" LF line+ \"*** End\" LF?\nline: \"+\" /(.*)/ LF\n%import common.LF"}}])";
  const TestServer server(
      Saying(Calling("patch", R"({"input": "*** Begin\n+say \"hi\"\n*** End"})")));
  const json body = Created(server, tools);
  ASSERT_EQ(body["output"].size(), 1U);
  const json& call = body["output"][0];
  EXPECT_EQ(call["type"], "custom_tool_call");
  EXPECT_EQ(call["name"], "patch");
  EXPECT_EQ(call["input"], "*** Begin\n+say \"hi\"\n*** End");
  EXPECT_THAT(call["id"].get<std::string>(), StartsWith("ctc_"));

  const std::vector<json> events = EventsOf(Create(server, tools + R"(,"stream":true)"));
  EXPECT_THAT(
      TypesOf(events),
      ElementsAre("response.created", "response.in_progress", "response.output_item.added",
                  "response.custom_tool_call_input.delta", "response.custom_tool_call_input.done",
                  "response.output_item.done", "response.completed"));
  std::string input;
  for (const json& event : events) {
    if (event["type"] == "response.custom_tool_call_input.delta")
      input += event["delta"].get<std::string>();
  }
  EXPECT_EQ(input, call["input"]);

  // The model wants to write something else: it cannot.
  const TestServer other(Saying(Calling("patch", R"({"input": "rm -rf"})")));
  const json forced = Created(other, tools + R"(,"max_output_tokens":120)");
  EXPECT_THAT(forced["output"][0]["input"].get<std::string>(), StartsWith("*** Begin\n+"));
  const RawResponse bad = Create(server, R"("tools":[{"type":"custom","name":"p","format":{
      "type":"grammar","syntax":"lark","definition":"start: nothing"}}])");
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(ErrorOf(bad)["code"], "invalid_grammar");
  EXPECT_EQ(ErrorOf(bad)["param"], "tools[0].format.definition");
}

TEST(AgentResponsesTest, HostedToolsAreLeftOutByName) {
  constexpr auto kHosted = R"("tools":[{"type":"web_search"},{"type":"function","name":"weather"},
      {"type":"mcp","server_label":"x"},{"type":"web_search"}])";
  const TestServer server(Saying("Hello"));
  const RawResponse response = Create(server, kHosted);
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.headers.at("weft-dropped-tools"), "web_search, mcp");
  EXPECT_EQ(json::parse(response.body)["tools"].size(), 1U);
  EXPECT_FALSE(Create(server, kTools).headers.contains("weft-dropped-tools"));
  ServerOptions options;
  options.rules.drops_hosted_tools = false;
  const TestServer strict(Saying("Hello"), options);
  const RawResponse refused = Create(strict, kHosted);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(ErrorOf(refused)["param"], "tools[0].type");
  EXPECT_EQ(ErrorOf(refused)["code"], "unsupported_value");
}

TEST(AgentResponsesTest, ReasoningComesInItsClosedFormToo) {
  const TestServer server(Saying("<think>\nHm.\n</think>\n\nSee."));
  const json body = Created(server, R"("include":["reasoning.encrypted_content"])");
  const std::string sealed = body["output"][0]["encrypted_content"];
  EXPECT_EQ(UnsealText(sealed), "Hm.");
  EXPECT_FALSE(Created(server, "")["output"][0].contains("encrypted_content"));
}

// Of 1024 tokens; the template writes all that was said.
TEST(AgentResponsesTest, TruncationLeavesTheOldestTurnsOut) {
  TestModelOptions options = Saying("Hello");
  options.chat_template = "{%- for m in messages -%}<{{ m.role }}>{{ m.content }}{%- endfor -%}";
  options.reply.clear();
  const TestServer server(options);
  std::string items = R"({"role":"system","content":"S"},{"role":"user","content":"call"},
      {"type":"function_call","call_id":"c","name":"f","arguments":"{}"})";
  for (int i = 0; i < 6; ++i) {
    items += R"(,{"role":"user","content":")" + std::string(230, static_cast<char>('a' + i)) +
             R"("},{"role":"assistant","content":"ok"})";
  }
  const int turn = 6 + 230 + 11 + 2;  // <user>..., <assistant>ok
  const std::string input = "[" + items + "]";
  const RawResponse refused = Create(server, "", input);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(ErrorOf(refused)["code"], "context_length_exceeded");
  const json body = Created(server, R"("truncation":"auto","max_output_tokens":8)", input);
  EXPECT_EQ(body["truncation"], "auto");
  EXPECT_EQ(body["usage"]["input_tokens"], 9 + 4 * turn);  // behind <system>S
  // Room for an answer of any length: an eighth of the context.
  const json roomy = Created(server, R"("truncation":"auto")", input);
  EXPECT_EQ(roomy["usage"]["input_tokens"], 9 + 3 * turn);
  // What answers a call that has gone goes, too.
  const json answered =
      Created(server, R"("truncation":"auto","max_output_tokens":8)",
              "[" + items + R"(,{"type":"function_call_output","call_id":"c","output":"x"}])");
  EXPECT_EQ(answered["usage"]["input_tokens"], 9 + 4 * turn);
  // What has no turn to leave out is refused as ever.
  const RawResponse one =
      Create(server, R"("truncation":"auto")", '"' + std::string(2000, 'x') + '"');
  EXPECT_EQ(ErrorOf(one)["code"], "context_length_exceeded");
}

TEST(AgentResponsesTest, InputTokensAreCounted) {
  const TestServer server(Saying("Hello"));
  const RawResponse counted =
      server.PostTo("/v1/responses/input_tokens", R"({"input":"Hi","model":"test-model"})");
  EXPECT_EQ(counted.status, 200) << counted.body;
  EXPECT_EQ(counted.body, R"({"object":"response.input_tokens","input_tokens":256})");
  const json made = Created(server, "");
  const RawResponse more =
      server.PostTo("/v1/responses/input_tokens", R"({"input":"Hi","previous_response_id":")" +
                                                      made["id"].get<std::string>() + "\"}");
  EXPECT_EQ(json::parse(more.body)["input_tokens"], 256) << more.body;
  const RawResponse none = server.PostTo("/v1/responses/input_tokens", "{}");
  EXPECT_EQ(ErrorOf(none)["param"], "input");
}

TEST(AgentResponsesTest, ACompactedConversationCanBeGoneOnFrom) {
  const TestServer server(Saying("We talked."));
  const RawResponse response = server.PostTo("/v1/responses/compact", R"({"model":"test-model",
      "prompt_cache_key":"k","input":[{"role":"user","content":"One"},
      {"role":"assistant","content":"Two"}]})");
  ASSERT_EQ(response.status, 200) << response.body;
  const json body = json::parse(response.body);
  EXPECT_EQ(body["object"], "response.compaction");
  EXPECT_GT(body["created_at"], 0);
  ASSERT_EQ(body["output"].size(), 2U);
  EXPECT_EQ(body["output"][0]["content"][0]["text"], "One");
  EXPECT_EQ(body["output"][1]["type"], "compaction");
  EXPECT_THAT(body["output"][1]["id"].get<std::string>(), StartsWith("cmp_"));
  EXPECT_TRUE(UnsealText(body["output"][1]["encrypted_content"].get<std::string>()));
  EXPECT_GT(body["usage"]["output_tokens"], 0);
  const json next = Created(server, "", body["output"].dump());
  EXPECT_EQ(next["status"], "completed");
  const RawResponse nobody = server.PostTo("/v1/responses/compact", R"({"input":"Hi"})");
  EXPECT_EQ(nobody.status, 400);
  EXPECT_EQ(ErrorOf(nobody)["param"], "model");
}

}  // namespace
}  // namespace weft
