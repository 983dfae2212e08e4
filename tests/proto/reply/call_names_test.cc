// What may stand where a call's name does: in every format, a tool that was offered.
#include "proto/reply/call_names.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/proto/reply/call_formats.h"

namespace weft {
namespace {

ReplyOptions OptionsOf(CallFormat calls) {
  ReplyOptions options;
  options.format.calls = calls;
  if (HasMessages(calls)) {
    options.format.reasoning_open.clear();
    options.format.reasoning_close.clear();
  }
  options.parses_calls = true;
  options.tools = {{"get_weather", {}}, {"get", {}}, {"list", {}}};
  return options;
}

// How much of the text may be written, behind `begin`.
std::string Allowed(const ReplyOptions& options, std::string_view text,
                    std::string_view begin = {}) {
  const std::optional<CallNameRules> rules = CallNameRulesOf(options, begin);
  if (!rules) return std::string(text);
  CallNameScanner scanner(*rules, options.begins_in_reasoning);
  EXPECT_TRUE(scanner.Feed(begin));
  for (size_t i = 0; i < text.size(); ++i) {
    if (!scanner.Feed(text[i])) return std::string(text.substr(0, i));
  }
  return std::string(text);
}

std::string Allowed(CallFormat format, std::string_view text) {
  return Allowed(OptionsOf(format), text);
}

TEST(CallNamesTest, BehindAForcedOpeningEveryFormatTakesOfferedNamesAlone) {
  for (const CallFormat format : kAllCallFormats) {
    SCOPED_TRACE(static_cast<int>(format));
    const ReplyOptions options = OptionsOf(format);
    const std::string opening = CallOpening(options.format, "");
    const std::optional<CallNameRules> rules = CallNameRulesOf(options, opening);
    ASSERT_TRUE(rules);
    CallNameScanner start(*rules, false);
    ASSERT_TRUE(start.Feed(opening));
    EXPECT_TRUE(start.in_name());
    for (const ToolSignature& tool : options.tools) {
      // The whole opening begins with the bare one, and has what ends the name behind it.
      const std::string whole = CallOpening(options.format, tool.name);
      ASSERT_TRUE(whole.starts_with(opening));
      CallNameScanner scanner = start;
      EXPECT_TRUE(scanner.Feed(std::string_view(whole).substr(opening.size()))) << whole;
      scanner = start;
      EXPECT_TRUE(scanner.Feed(tool.name));
      EXPECT_TRUE(scanner.in_name());
      EXPECT_FALSE(scanner.Feed('x'));
    }
    for (const std::string_view wrong : {"evil", "ge ", "gets", "get_\"", "getweather", "\"", "\\"})
      EXPECT_FALSE(CallNameScanner(start).Feed(wrong)) << wrong;
  }
}

TEST(CallNamesTest, NamesThatBeginOthersEndWhereTheyEnd) {
  constexpr std::string_view kBegin = "<tool_call>\n{\"name\": \"";
  const ReplyOptions options = OptionsOf(CallFormat::kHermes);
  for (const std::string_view text :
       {"get\", \"arguments\": {}}", "get_weather\", \"arguments\": {}}", "list\"}"}) {
    EXPECT_EQ(Allowed(options, text, kBegin), text);
  }
  EXPECT_EQ(Allowed(options, "get_\"", kBegin), "get_");
  EXPECT_EQ(Allowed(options, "get_weather_now\"", kBegin), "get_weather");
}

TEST(CallNamesTest, InJsonTheNameIsFoundWhereverItStands) {
  for (const std::string_view text : {
           R"(<tool_call>{"name": ")",
           R"(Well. <tool_call> [ { "name" : ")",
           R"(<tool_call>{"arguments": {"name": "x", "y": ["}", {}]}, "name":")",
           R"(<tool_call>{"id": "evil", "type": "function", "function": {"name": ")",
           R"(<tool_call>{"type": 1.5e3, "function": ")",
           R"(<tool_call>{"tool_name": ")",
           R"(<tool_call>[{"name": "get", "arguments": {"name": "Bob"}}, {"name": ")",
           R"(<tool_call>{"name": "get", "arguments": {}}</tool_call><tool_call>{"name": ")",
           R"(<tool_call>{"name": "list", "name": ")",
           "<tool_call>{\"a\n<tool_call>{\"name\": \"",
           "<tool_call><tool_call>{\"name\": \"",
           "<<tool_call>{\"name\": \"",
           "<think>\n<tool_call>{\"</think>\n<tool_call>{\"name\": \"",
       }) {
    EXPECT_EQ(Allowed(CallFormat::kHermes, std::string(text) + "evil"), text);
    EXPECT_EQ(Allowed(CallFormat::kHermes, std::string(text) + "get\""),
              std::string(text) + "get\"");
  }
  // A name may be spelled in one way only.
  EXPECT_EQ(Allowed(CallFormat::kHermes, R"(<tool_call>{"n\u0061me)"), R"(<tool_call>{"n)");
  EXPECT_EQ(Allowed(CallFormat::kHermes, R"(<tool_call>{"name": "\u0067et)"),
            R"(<tool_call>{"name": ")");
}

TEST(CallNamesTest, WhatIsNoNameIsFree) {
  for (const std::string_view text : {
           R"({"name": "evil"})",
           R"(<tool_call>{"name": "get", "arguments": {"name": "evil"}}</tool_call>)",
           R"(<tool_call>{"arguments": "{\"name\": \"evil\"}", "name": "get"}</tool_call>)",
           R"(<tool_call>{"name": "get", "arguments": {}}{"name": "evil"})",
           R"(<tool_call> {"x": {"name": "evil"}})",
           R"(<tool_call> not JSON {"name": "evil"})",
           R"(<think><tool_call>{"name": "evil"</think>{"name": "evil"})",
           R"(tool_call>{"name": "evil"})",
       }) {
    EXPECT_EQ(Allowed(CallFormat::kHermes, text), text);
  }
  ReplyOptions thinking = OptionsOf(CallFormat::kHermes);
  thinking.begins_in_reasoning = true;
  EXPECT_EQ(Allowed(thinking, "<tool_call>{\"name\": \"e</think>"),
            "<tool_call>{\"name\": \"e</think>");
  EXPECT_EQ(Allowed(thinking, "</think><tool_call>{\"name\": \"e"),
            "</think><tool_call>{\"name\": \"");
}

TEST(CallNamesTest, BareNamesFollowTheirTags) {
  EXPECT_EQ(Allowed(CallFormat::kMistral, "[TOOL_CALLS] [{\"name\": \"evil"),
            "[TOOL_CALLS] [{\"name\": \"");
  EXPECT_EQ(Allowed(CallFormat::kMistral, "[TOOL_CALLS] evil"), "[TOOL_CALLS] ");
  EXPECT_EQ(Allowed(CallFormat::kMistralNamed, "[TOOL_CALLS]get[CALL_ID]1[ARGS]{}[TOOL_CALLS]e"),
            "[TOOL_CALLS]get[CALL_ID]1[ARGS]{}[TOOL_CALLS]");
  EXPECT_EQ(Allowed(CallFormat::kGlm, "<tool_call>list<tool_call>get_weather\n<tool_call>\nx"),
            "<tool_call>list<tool_call>get_weather\n<tool_call>\n");
  EXPECT_EQ(Allowed(CallFormat::kQwenXml, "<tool_call>\n<function=get>\n<function=x"),
            "<tool_call>\n<function=get>\n<function=");
  EXPECT_EQ(Allowed(CallFormat::kDeepSeekV31, "<｜tool▁call▁begin｜>get<｜tool▁sep｜>\n"),
            "<｜tool▁call▁begin｜>get<｜tool▁sep｜>");
}

TEST(CallNamesTest, BehindAnIdATagThatIsNoneMayBeginAnOpening) {
  const auto allowed = [](const std::string& text) {
    return Allowed(CallFormat::kMistralNamed, text);
  };
  for (const std::string text :
       {"[TOOL_CALLS]get[CALL_ID]1[TOOL_CALLS]", "[TOOL_CALLS]get[CALL_ID]1[ARGS[TOOL_CALLS]",
        "[TOOL_CALLS]get[CALL_ID]1[[ARGS]{\"[TOOL_CALLS]"}) {
    EXPECT_EQ(allowed(text + "evil[ARGS]{}"), text);
  }
  const auto with_id = [](size_t size_bytes) {
    return "[TOOL_CALLS]get[CALL_ID]" + std::string(size_bytes, '1') + "[ARGS]{\"[TOOL_CALLS]";
  };
  EXPECT_EQ(allowed(with_id(512) + "evil"), with_id(512) + "evil");
  EXPECT_EQ(allowed(with_id(513) + "evil"), with_id(513));  // no id is so long
}

TEST(CallNamesTest, ANumberFollowsKimisNames) {
  const auto allowed = [](const std::string& text) {
    ReplyOptions options = OptionsOf(CallFormat::kKimi);
    options.tools.push_back({"get:all", {}});
    return Allowed(options, "<|tool_call_begin|>functions." + text).substr(29);
  };
  EXPECT_EQ(allowed("get:10<|tool_call_argument_begin|>{}"),
            "get:10<|tool_call_argument_begin|>{}");
  EXPECT_EQ(allowed("get:all:0<"), "get:all:0<");
  EXPECT_EQ(allowed("get:x:0"), "get:");
  EXPECT_EQ(allowed("get:0:1"), "get:0");
  EXPECT_EQ(allowed("get:<"), "get:");
}

TEST(CallNamesTest, ValuesOfParametersMayBeAboutCalls) {
  const std::string qwen =
      "<function=get>\n<parameter=code>\nuse <function=foo> so\n</parameter>\n<parameter=<function="
      "foo>\n<function=foo></parameter></function><function=";
  EXPECT_EQ(Allowed(CallFormat::kQwenXml, qwen + "foo"), qwen);
  const std::string glm =
      "<tool_call>get\n<arg_key>a</arg_key> <arg_value><tool_call>foo\n</arg_value>\n"
      "<arg_key><tool_call>foo</arg_key><arg_value></arg_value></tool_call><tool_call>";
  EXPECT_EQ(Allowed(CallFormat::kGlm, glm + "foo"), glm);
  // What is no value is followed.
  for (const std::string text : {"<function=get><parameter=a>b</parameter>c<parameter=d><function=",
                                 "<function=get> x<parameter=a><function=",
                                 "<function=get><<function=", "<function=get><param<function="}) {
    EXPECT_EQ(Allowed(CallFormat::kQwenXml, text + "foo"), text);
  }
  for (const std::string text : {"<tool_call>get\n<arg_key>a</arg_key>x<arg_value><tool_call>",
                                 "<tool_call>get<arg_key>a</arg_key><arg_key><tool_call>",
                                 "<tool_call>get\nx<arg_key>a</arg_key><arg_value><tool_call>"}) {
    EXPECT_EQ(Allowed(CallFormat::kGlm, text + "foo"), text);
  }
  const auto with_key = [](size_t size_bytes) {
    return "<function=get><parameter=" + std::string(size_bytes, 'a') + "><function=";
  };
  EXPECT_EQ(Allowed(CallFormat::kQwenXml, with_key(512) + "foo"), with_key(512) + "foo");
  EXPECT_EQ(Allowed(CallFormat::kQwenXml, with_key(513) + "foo"), with_key(513));
}

TEST(CallNamesTest, HarmonysRecipientStandsInAHeader) {
  const auto allowed = [](std::string_view text) { return Allowed(CallFormat::kHarmony, text); };
  EXPECT_EQ(allowed(" to=functions.get<|channel|>commentary json<|message|>{}"),
            " to=functions.get<|channel|>commentary json<|message|>{}");
  EXPECT_EQ(allowed(" to=functions.evil"), " to=functions.");
  EXPECT_EQ(allowed("to=functions.evil to=evil"), "to=functions.evil to=evil");
  EXPECT_EQ(allowed("<|channel|>commentary to=list <|message|>"),
            "<|channel|>commentary to=list <|message|>");
  EXPECT_EQ(allowed("<|channel|>analysis<|message|>to=x<|end|><|start|>assistant to=python"),
            "<|channel|>analysis<|message|>to=x<|end|><|start|>assistant to=");
  EXPECT_EQ(allowed("<|start|>assistant to=user<|message|>"),
            "<|start|>assistant to=user<|message|>");
}

TEST(CallNamesTest, PythonsCallsFollowOneAnother) {
  for (const std::string_view text :
       {"<function_calls>\n", "<function_calls>get(a=1)\n", "<function_calls>[get(a=')evil('), ",
        "<function_calls>get(a=[(1)], b={\"x\": \"\\\")\"})\n",
        "<function_calls>get(a='<function_calls>"}) {
    EXPECT_EQ(Allowed(CallFormat::kOlmo, std::string(text) + "evil("), text);
    EXPECT_EQ(Allowed(CallFormat::kOlmo, std::string(text) + "list("), std::string(text) + "list(");
  }
  for (const std::string_view text :
       {"evil()", "<function_calls>get(a=evil())", "<function_calls>get()</function_calls>evil()",
        "<function_calls>[get()]evil()"}) {
    EXPECT_EQ(Allowed(CallFormat::kOlmo, text), text);
  }
}

TEST(CallNamesTest, KeysAreNamesWhereTheFormatHasItSo) {
  for (const std::string_view text :
       {"<|tools_prefix|>[{\"", "<|tools_prefix|>[{\"get\": {\"evil\": 1}}, { \"",
        "<|tools_prefix|>{\"get\": {}, \""}) {
    EXPECT_EQ(Allowed(CallFormat::kApertus, std::string(text) + "evil"), text);
    EXPECT_EQ(Allowed(CallFormat::kApertus, std::string(text) + "get\""),
              std::string(text) + "get\"");
  }
}

TEST(CallNamesTest, WithoutTagsOnlyAForcedCallIsWatched) {
  for (const CallFormat format : {CallFormat::kPlainJson, CallFormat::kLlama}) {
    ReplyOptions options = OptionsOf(format);
    EXPECT_FALSE(CallNameRulesOf(options, ""));
    EXPECT_TRUE(CallNameRulesOf(options, CallOpening(options.format, "")));
    options.begins_in_reasoning = true;
    const std::string begin = "\n</think>\n\n" + CallOpening(options.format, "");
    EXPECT_EQ(Allowed(options, "get\"}; {\"name\": \"evil", begin), "get\"}; {\"name\": \"evil");
    EXPECT_EQ(Allowed(options, "evil", begin), "");
  }
  ReplyOptions silent = OptionsOf(CallFormat::kHermes);
  silent.parses_calls = false;
  EXPECT_FALSE(CallNameRulesOf(silent, ""));
}

// Texts of the pieces that calls are made of, without those that the scanner refuses.
std::string RandomText(const ReplyOptions& options, std::mt19937& random) {
  std::vector<std::string> pieces = {" ",
                                     "\n",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     ",",
                                     ":",
                                     "\"",
                                     "\"name\"",
                                     "\"arguments\": ",
                                     "\"function\": ",
                                     "name",
                                     "get",
                                     "get_weather",
                                     "evil",
                                     "functions.",
                                     "to=",
                                     "{\"name\": \"",
                                     "\", \"arguments\": ",
                                     "{\"a\": 1}",
                                     "<function=",
                                     "<parameter=a>",
                                     ">",
                                     "0",
                                     ":0",
                                     "function",
                                     "\n```json\n",
                                     "a",
                                     "\\",
                                     ", {\"name\": \"evil\"",
                                     "</think>"};
  for (const char* const whole :
       {R"([{"name": "get", "arguments": {}}, {"name": "evil", "arguments": {}}])",
        R"({"arguments": {"name": "get"}, "name": "evil"})",
        R"({"function": {"name": "evil", "arguments": "{}"}})",
        R"({"arguments": "\ud800)",
        R"(", "id": "\udc00\ud83d\ude00")",
        "<parameter=code>\n",
        "</parameter>",
        "<arg_key>a</arg_key><arg_value>",
        "1[",
        "[ARGS]{\"",
        "[CALL_ID]1",
        "evil{}",
        "evil>",
        "evil<",
        "evil(",
        "evil()",
        "get(a=1)",
        "get(a='",
        "(a=1)",
        "a=",
        "(",
        ")",
        "'",
        "call:",
        "call:evil{}",
        "call:get{a:1}",
        "{a:<|\"|>",
        "<invoke name=\"",
        "evil\">",
        "</invoke>",
        "[{\"get\": {}}, {\"evil\": {}}]",
        "<|tool_call:name|>evil<|tool_call:args|>{}",
        "evil<|tool_call:args|>{}",
        "function<｜tool▁sep｜>evil\n```json\n{}",
        " to=evil <|message|>{}"})
    pieces.emplace_back(whole);
  for (const std::string_view tag : TagsOf(options.format, true)) pieces.emplace_back(tag);
  for (const char* const name : {"", "", "", "get", "evil"})
    pieces.push_back(CallOpening(options.format, name));
  const CallNameRules rules = CallNameRulesOf(options, "-").value();
  CallNameScanner scanner(rules, options.begins_in_reasoning);
  std::string text;
  for (uint32_t count = random() % 40; count > 0; --count) {
    const std::string& piece = pieces[random() % pieces.size()];
    CallNameScanner next = scanner;
    if (!next.Feed(piece)) continue;
    scanner = next;
    text += piece;
  }
  return text;
}

std::vector<ReplyDelta> Parse(const ReplyOptions& options, std::string_view text) {
  ReplyParser parser(options);
  std::vector<ReplyDelta> deltas = parser.Push(text);
  for (ReplyDelta& delta : parser.Finish()) deltas.push_back(std::move(delta));
  return deltas;
}

// The parser never finds a name where the scanner has not looked: more tools than were offered
// change nothing of what is read.
TEST(CallNamesTest, TheParserFindsNoOtherNames) {
  std::mt19937 random(11);
  for (const CallFormat format : kAllCallFormats) {
    if (IsUntagged(format)) continue;
    int32_t calls = 0;
    for (int round = 0; round < 8'000; ++round) {
      ReplyOptions options = OptionsOf(format);
      options.begins_in_reasoning = random() % 4 == 0 && !options.format.reasoning_open.empty();
      const std::string text = RandomText(options, random);
      ReplyOptions wider = options;
      for (const char* const name : {"evil", "name", "function", "functions.", "a", "0", "python"})
        wider.tools.push_back({name, {}});
      const std::vector<ReplyDelta> deltas = Parse(options, text);
      ASSERT_EQ(deltas, Parse(wider, text)) << static_cast<int>(format) << ": " << text;
      calls += static_cast<int32_t>(
          std::ranges::count(deltas, ReplyDeltaKind::kCallBegun, &ReplyDelta::kind));
    }
    EXPECT_GT(calls, 30) << static_cast<int>(format);
  }
}

}  // namespace
}  // namespace weft
