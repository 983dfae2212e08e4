// `context_management` through a socket: what becomes of prompts, and what answers say of it.
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;

// A prompt is what its messages say.
TestModelOptions Plain() {
  TestModelOptions options;
  options.chat_template =
      "{%- for m in messages -%}<{{ m.role }}>{{ m.reasoning_content or '' }}{{ m.content or '' }}"
      "{%- for call in m.tool_calls or [] -%}{{ call.function.name }}{%- endfor -%}"
      "{%- endfor -%}<asst>";
  options.max_context = 4096;
  return options;
}

constexpr std::string_view kKeepNone =
    R"("context_management":{"edits":[{"type":"clear_thinking_20251015"},
       {"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":100},
        "keep":{"type":"tool_uses","value":0}}]})";

// Two turns with thoughts; in the first a tool was used, with a result of 500 bytes.
std::string Body(std::string_view fields) {
  return R"({"max_tokens":5,"temperature":0,"messages":[
      {"role":"user","content":"a"},
      {"role":"assistant","content":[{"type":"thinking","thinking":"I had better look."},
        {"type":"tool_use","id":"1","name":"read","input":{}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":")" +
         std::string(500, 'x') + R"("}]},
      {"role":"assistant","content":"b"},
      {"role":"user","content":"c"},
      {"role":"assistant","content":[{"type":"thinking","thinking":"So."},
        {"type":"text","text":"d"}]},
      {"role":"user","content":"e"}],)" +
         std::string(fields) + "}";
}

json Answer(const TestServer& server, std::string_view path, std::string_view fields) {
  const RawResponse response = server.PostTo(path, Body(fields));
  EXPECT_EQ(response.status, 200) << response.body;
  return json::parse(response.body);
}

int64_t CountOf(const TestServer& server, std::string_view fields) {
  return Answer(server, "/v1/messages/count_tokens", fields)["input_tokens"];
}

TEST(ContextManagementTest, AnswersSayWhatWasCleared) {
  const TestServer server(Plain());
  const int64_t original = CountOf(server, R"("stream":false)");
  const json message = Answer(server, "/v1/messages", kKeepNone);
  const json& edits = message["context_management"]["applied_edits"];
  ASSERT_EQ(edits.size(), 2U);
  EXPECT_EQ(edits[0], json({{"type", "clear_thinking_20251015"},
                            {"cleared_thinking_turns", 1},
                            {"cleared_input_tokens", 18}}));
  EXPECT_EQ(edits[1], json({{"type", "clear_tool_uses_20250919"},
                            {"cleared_tool_uses", 1},
                            {"cleared_input_tokens", 500 - 32}}));
  EXPECT_EQ(message["usage"]["input_tokens"], original - 18 - (500 - 32));
}

TEST(ContextManagementTest, StreamsSayItAtTheirEnd) {
  const TestServer server(Plain());
  const json whole = Answer(server, "/v1/messages", kKeepNone);
  const RawResponse response =
      server.PostTo("/v1/messages", Body(std::string(kKeepNone) + R"(,"stream":true)"));
  std::istringstream lines(response.body);
  std::vector<json> deltas;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("data: ")) continue;
    const json event = json::parse(line.substr(6));
    if (event.contains("context_management")) deltas.push_back(event);
  }
  ASSERT_EQ(deltas.size(), 1U);
  EXPECT_EQ(deltas[0]["type"], "message_delta");
  EXPECT_EQ(deltas[0]["context_management"], whole["context_management"]);
}

TEST(ContextManagementTest, CountsAreThoseOfWhatIsLeft) {
  const TestServer server(Plain());
  const int64_t original = CountOf(server, R"("stream":false)");
  const json count = Answer(server, "/v1/messages/count_tokens", kKeepNone);
  EXPECT_EQ(count["context_management"]["original_input_tokens"], original);
  EXPECT_EQ(count["input_tokens"], original - 18 - (500 - 32));
}

TEST(ContextManagementTest, WhatChangesNothingSaysNothing) {
  const TestServer server(Plain());
  const std::string_view nothing =
      R"("context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"},
                                        {"type":"clear_tool_uses_20250919"}]})";
  EXPECT_EQ(Answer(server, "/v1/messages", nothing)["context_management"],
            json({{"applied_edits", json::array()}}));
  const json count = Answer(server, "/v1/messages/count_tokens", nothing);
  EXPECT_EQ(count["context_management"]["original_input_tokens"], count["input_tokens"]);
  EXPECT_FALSE(Answer(server, "/v1/messages", R"("stream":false)").contains("context_management"));
}

}  // namespace
}  // namespace weft
