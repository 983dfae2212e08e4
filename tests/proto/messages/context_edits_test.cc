// What `context_management` clears of a conversation, and what it says about that.
#include "proto/messages/context_edits.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kCleared = "[result cleared to save context]";

ApiResult<std::vector<ContextEdit>> Read(const std::string& edits) {
  return ReadContextManagement(ordered_json::parse(R"({"edits":[)" + edits + "]}"));
}

// Two turns of the assistant, the first with two calls, both with thoughts, and a third without.
ordered_json Conversation() {
  return ordered_json::parse(R"([
    {"role":"user","content":"a"},
    {"role":"assistant","content":null,"reasoning_content":"first","tool_calls":[
      {"id":"1","type":"function","function":{"name":"read","arguments":{"path":"x"}}},
      {"id":"2","type":"function","function":{"name":"list","arguments":{"path":"y"}}}]},
    {"role":"tool","tool_call_id":"1","name":"read","content":"a long text that is read to its very end"},
    {"role":"tool","tool_call_id":"2","name":"list","content":[{"type":"text","text":"a list of what there is"}]},
    {"role":"assistant","content":null,"reasoning_content":"first, too"},
    {"role":"user","content":"b"},
    {"role":"assistant","content":"B","reasoning_content":"second","tool_calls":[
      {"id":"3","type":"function","function":{"name":"read","arguments":{}}}]},
    {"role":"tool","tool_call_id":"3","name":"read","content":"another long text that is read"},
    {"role":"assistant","content":"C"},
    {"role":"user","content":"c"}])");
}

struct Edited {
  ordered_json messages;
  ordered_json answer;
  int64_t original_tokens = 0;
  int counts = 0;  // how often tokens were counted
};

// A token is a byte of JSON.
Edited Edit(const std::string& edits) {
  Edited edited{.messages = Conversation(), .answer = {}, .original_tokens = 0, .counts = 0};
  const auto count = [&]() -> ApiResult<int64_t> {
    ++edited.counts;
    return std::ssize(edited.messages.dump());
  };
  const auto read = Read(edits);
  EXPECT_TRUE(read) << edits << (read ? "" : read.error().message);
  const ApiResult<AppliedEdits> applied = ApplyContextEdits(*read, count, edited.messages);
  EXPECT_TRUE(applied);
  edited.answer = ordered_json::parse(ToJson(applied->edits))["applied_edits"];
  edited.original_tokens = applied->original_tokens;
  return edited;
}

std::vector<std::string> Results(const ordered_json& messages) {
  std::vector<std::string> results;
  for (const ordered_json& message : messages) {
    if (message["role"] != "tool") continue;
    results.push_back(message["content"] == kCleared ? "-" : message["tool_call_id"]);
  }
  return results;
}

std::vector<std::string> Thoughts(const ordered_json& messages) {
  std::vector<std::string> thoughts;
  for (const ordered_json& message : messages) {
    if (message.contains("reasoning_content")) thoughts.push_back(message["reasoning_content"]);
  }
  return thoughts;
}

using Strings = std::vector<std::string>;

std::string ToolEdit(const std::string& fields) {
  return R"({"type":"clear_tool_uses_20250919")" + (fields.empty() ? "" : "," + fields) + "}";
}
std::string ThinkingEdit(const std::string& fields) {
  return R"({"type":"clear_thinking_20251015")" + (fields.empty() ? "" : "," + fields) + "}";
}
const std::string kNow = R"("trigger":{"type":"tool_uses","value":1})";

TEST(ContextEditsTest, ResultsOfToolsAreClearedButForTheLast) {
  struct Case {
    std::string fields;
    Strings results;
  };
  for (const Case& each : {
           Case{kNow + R"(,"keep":{"type":"tool_uses","value":1})", {"-", "-", "3"}},
           Case{kNow + R"(,"keep":{"type":"tool_uses","value":2})", {"-", "2", "3"}},
           Case{kNow + R"(,"keep":{"type":"tool_uses","value":0})", {"-", "-", "-"}},
           Case{kNow, {"1", "2", "3"}},  // 3 are kept
           Case{"", {"1", "2", "3"}},    // from 100,000 tokens on
           Case{R"("keep":{"type":"tool_uses","value":1},
                  "trigger":{"type":"tool_uses","value":4})",
                {"1", "2", "3"}},
           Case{R"("keep":{"type":"tool_uses","value":1},
                  "trigger":{"type":"input_tokens","value":100})",
                {"-", "-", "3"}},
           Case{R"("keep":{"type":"tool_uses","value":1},
                  "trigger":{"type":"input_tokens","value":10000})",
                {"1", "2", "3"}},
           // What is excluded is not among those that are kept.
           Case{kNow + R"(,"keep":{"type":"tool_uses","value":0},"exclude_tools":["read"])",
                {"1", "-", "3"}},
           Case{kNow + R"(,"keep":{"type":"tool_uses","value":1},"exclude_tools":["list"])",
                {"-", "2", "3"}},
           Case{kNow + R"(,"keep":{"type":"tool_uses","value":0},
                  "clear_at_least":{"type":"input_tokens","value":10000})",
                {"1", "2", "3"}},
       }) {
    const Edited edited = Edit(ToolEdit(each.fields));
    EXPECT_EQ(Results(edited.messages), each.results) << each.fields;
    const auto cleared = std::ranges::count(each.results, "-");
    ASSERT_EQ(edited.answer.size(), cleared > 0 ? 1U : 0U) << each.fields;
    if (cleared == 0) {
      EXPECT_EQ(edited.messages, Conversation()) << each.fields;
      continue;
    }
    const int64_t before = std::ssize(Conversation().dump());
    EXPECT_EQ(edited.answer[0],
              ordered_json({{"type", "clear_tool_uses_20250919"},
                            {"cleared_tool_uses", cleared},
                            {"cleared_input_tokens",
                             std::max<int64_t>(before - std::ssize(edited.messages.dump()), 0)}}))
        << each.fields;
    EXPECT_EQ(edited.original_tokens, before);
  }
}

TEST(ContextEditsTest, InputsOfCallsGoIfTheRequestSaysSo) {
  const auto arguments = [](const std::string& fields) {
    const Edited edited =
        Edit(ToolEdit(kNow + R"(,"keep":{"type":"tool_uses","value":1},)" + fields));
    ordered_json inputs = ordered_json::array();
    for (const ordered_json& call : edited.messages[1]["tool_calls"]) {
      inputs.push_back(call["function"]["arguments"]);
    }
    return inputs.dump();
  };
  EXPECT_EQ(arguments(R"("clear_tool_inputs":false)"), R"([{"path":"x"},{"path":"y"}])");
  EXPECT_EQ(arguments(R"("clear_tool_inputs":true)"), "[{},{}]");
  EXPECT_EQ(arguments(R"("clear_tool_inputs":["list"])"), R"([{"path":"x"},{}])");
}

TEST(ContextEditsTest, ResultsShorterThanTheLineThatTheyGiveWayToStay) {
  const ordered_json conversation = ordered_json::parse(R"([{"role":"assistant","content":null,
      "tool_calls":[{"id":"1","function":{"name":"read","arguments":{}}}]},
      {"role":"tool","tool_call_id":"1","name":"read","content":"ok"}])");
  ordered_json messages = conversation;
  const auto count = [&]() -> ApiResult<int64_t> { return std::ssize(messages.dump()); };
  const auto edits = Read(ToolEdit(kNow + R"(,"keep":{"type":"tool_uses","value":0})"));
  EXPECT_TRUE(ApplyContextEdits(*edits, count, messages)->edits.empty());
  EXPECT_EQ(messages, conversation);
}

TEST(ContextEditsTest, WhatIsNotWorthItIsPutBack) {
  const Edited edited = Edit(ToolEdit(kNow + R"(,"keep":{"type":"tool_uses","value":0},
      "clear_tool_inputs":true,"clear_at_least":{"type":"input_tokens","value":5000})"));
  EXPECT_EQ(edited.messages, Conversation());
  EXPECT_EQ(edited.answer, ordered_json::array());
}

TEST(ContextEditsTest, ThoughtsOfEarlierTurnsAreCleared) {
  struct Case {
    std::string keep;
    Strings thoughts;
    int64_t cleared;
  };
  for (const Case& each :
       {Case{"", {"second"}, 1},
        Case{R"("keep":{"type":"thinking_turns","value":1})", {"second"}, 1},
        Case{R"("keep":{"type":"thinking_turns","value":2})", {"first", "first, too", "second"}, 0},
        Case{R"("keep":{"type":"all"})", {"first", "first, too", "second"}, 0},
        Case{R"("keep":"all")", {"first", "first, too", "second"}, 0}}) {
    const Edited edited = Edit(ThinkingEdit(each.keep));
    EXPECT_EQ(Thoughts(edited.messages), each.thoughts) << each.keep;
    ASSERT_EQ(edited.answer.size(), each.cleared > 0 ? 1U : 0U) << each.keep;
    if (each.cleared == 0) continue;
    EXPECT_EQ(edited.answer[0]["cleared_thinking_turns"], each.cleared);
    EXPECT_GT(edited.answer[0]["cleared_input_tokens"], 0);
    EXPECT_EQ(edited.messages[4]["content"], "") << "a message says something";
    EXPECT_EQ(edited.messages[1]["content"], nullptr);
  }
}

TEST(ContextEditsTest, SeveralEditsCountByThemselves) {
  const Edited edited =
      Edit(ThinkingEdit("") + "," + ToolEdit(kNow + R"(,"keep":{"type":"tool_uses","value":0})"));
  ASSERT_EQ(edited.answer.size(), 2U);
  EXPECT_EQ(edited.answer[0]["type"], "clear_thinking_20251015");
  EXPECT_EQ(edited.answer[1]["type"], "clear_tool_uses_20250919");
  EXPECT_EQ(edited.original_tokens, std::ssize(Conversation().dump()));
  EXPECT_EQ(edited.counts, 3);
}

TEST(ContextEditsTest, WhatCanChangeNothingCountsNothing) {
  EXPECT_EQ(Edit(ThinkingEdit(R"("keep":"all")")).counts, 0);
  EXPECT_EQ(Edit(ToolEdit("")).counts, 0);
  EXPECT_EQ(Edit("").counts, 0);
}

TEST(ContextEditsTest, MistakesAreNamed) {
  struct Case {
    std::string edit;
    std::string param;  // behind "context_management.edits[0]"
  };
  for (const Case& each :
       {Case{"3", ""}, Case{"{}", ".type"}, Case{R"({"type":"compact_20260112"})", ".type"},
        Case{ToolEdit(R"("keep":3)"), ".keep"},
        Case{ToolEdit(R"("keep":{"type":"input_tokens","value":3})"), ".keep.type"},
        Case{ToolEdit(R"("keep":{"type":"tool_uses"})"), ".keep.value"},
        Case{ToolEdit(R"("trigger":{"type":"tool_uses","value":-1})"), ".trigger.value"},
        Case{ToolEdit(R"("trigger":{"type":"x","value":1})"), ".trigger.type"},
        Case{ToolEdit(R"("clear_at_least":{"type":"tool_uses","value":1})"),
             ".clear_at_least.type"},
        Case{ToolEdit(R"("exclude_tools":"a")"), ".exclude_tools"},
        Case{ToolEdit(R"("exclude_tools":[1])"), ".exclude_tools[0]"},
        Case{ToolEdit(R"("clear_tool_inputs":1)"), ".clear_tool_inputs"},
        Case{ThinkingEdit(R"("keep":"some")"), ".keep"},
        Case{ThinkingEdit(R"("keep":{"type":"thinking_turns","value":0})"), ".keep.value"}}) {
    const auto read = Read(each.edit);
    ASSERT_FALSE(read) << each.edit;
    EXPECT_EQ(read.error().param, "context_management.edits[0]" + each.param) << each.edit;
    EXPECT_EQ(read.error().status, 400);
  }
  EXPECT_EQ(Read(R"({"type":"compact_20260112"})").error().message,
            "'context_management.edits[0].type' is 'compact_20260112', an edit that this server "
            "does not have; it has clear_thinking_20251015 and clear_tool_uses_20250919");
  EXPECT_FALSE(ReadContextManagement(ordered_json(3)));
  EXPECT_FALSE(ReadContextManagement(ordered_json{{"edits", 3}}));
  EXPECT_TRUE(ReadContextManagement(ordered_json::object())->empty());
}

}  // namespace
}  // namespace weft
