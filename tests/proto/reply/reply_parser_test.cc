// Replies parted into reasoning, answer and tool calls: the same however the text is cut.
#include "proto/reply/reply_parser.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/reply/call_syntax.h"
#include "tests/proto/reply/call_formats.h"
#include "tests/proto/reply/parse_reply.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ReplyParserTest, PlainTextStaysAsItIs) {
  const std::string text = " Hello, <b>world</b> [1] {x} <|y|> \n\n<tool [TOOL < Łódź ｜\n ";
  for (const CallFormat format : kAllCallFormats) EXPECT_EQ(ParseAs(format, text), Content(text));
  EXPECT_EQ(ParseAs(CallFormat::kHermes, ""), Content(""));
  EXPECT_EQ(ParseAs(CallFormat::kHermes, " \n"), Content(" \n"));
}

TEST(ReplyParserTest, ReasoningAtTheBeginningIsPartedFromTheAnswer) {
  const ReplyOptions options = OptionsOf(CallFormat::kHermes);
  EXPECT_EQ(Parse(options, "<think>\nHm, 1 < 2.\n\nSo.\n</think>\n\nYes."),
            (Reply{"Hm, 1 < 2.\n\nSo.", "Yes.", {}}));
  EXPECT_EQ(Parse(options, "\n<think></think>Yes. "), Content("Yes. "));
  EXPECT_EQ(Parse(options, "<think>a<think>b</think>c"), (Reply{"a<think>b", "c", {}}));
  EXPECT_EQ(Parse(options, "<think>cut off </thi"), (Reply{"cut off </thi", "", {}}));
  EXPECT_EQ(Parse(options, "<think>a</think>b<think>c</think>d"),
            (Reply{"a", "b<think>c</think>d", {}}));
  EXPECT_EQ(Parse(options, "I write <think>x</think>."), Content("I write <think>x</think>."));
}

TEST(ReplyParserTest, ThePromptMayHaveOpenedTheReasoning) {
  ReplyOptions options = OptionsOf(CallFormat::kDeepSeekV3);
  options.begins_in_reasoning = true;
  EXPECT_EQ(Parse(options, "\nHm.\n</think>\n\nYes."), (Reply{"Hm.", "Yes.", {}}));
  EXPECT_EQ(Parse(options, "Hm."), (Reply{"Hm.", "", {}}));
}

TEST(ReplyParserTest, OtherTagsOfReasoning) {
  ReplyOptions options = OptionsOf(CallFormat::kMistral);
  options.format = ReplyFormatOf("[THINK] [/THINK] [TOOL_CALLS]");
  EXPECT_EQ(Parse(options, "[THINK]a[/THINK]b"), (Reply{"a", "b", {}}));
  options.format = ReplyFormatOf("<|START_THINKING|><|END_THINKING|><|START_RESPONSE|>");
  EXPECT_EQ(Parse(options,
                  "<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>b"
                  "<|END_RESPONSE|>"),
            (Reply{"a", "b", {}}));
  EXPECT_EQ(Parse(options, "b <|START_RESPONSE|>"), Content("b <|START_RESPONSE|>"));
}

TEST(ReplyParserTest, HermesCalls) {
  const auto parse = [](std::string_view text) { return ParseAs(CallFormat::kHermes, text); };
  EXPECT_EQ(parse("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1, {}]}}\n</tool_call>"),
            Calls({{"f", "{\"a\": [1, {}]}", ""}}));
  EXPECT_EQ(parse("Let me see.\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n"
                  "<tool_call>{\"name\":\"g\",\"arguments\":{\"s\":\"<\\\"\"}}</tool_call>\n"),
            (Reply{"", "Let me see.", {{"f", "{}", ""}, {"g", "{\"s\":\"<\\\"\"}", ""}}}));
  EXPECT_EQ(parse("<think>hm</think>\n<tool_call>{\"name\":\"f\"}</tool_call>done"),
            (Reply{"hm", "done", {{"f", "{}", ""}}}));
  // Members in another order, names of other models, arguments as the text of an object.
  EXPECT_EQ(parse("<tool_call>{\"arguments\": {\"a\":1}, \"id\": 7, \"name\": \"f\"}</tool_call>"),
            Calls({{"f", "{\"a\":1}", ""}}));
  EXPECT_EQ(parse("<tool_call>{\"type\":\"function\",\"function\":{\"name\":\"f\","
                  "\"parameters\":{\"a\":1}}}</tool_call>"),
            Calls({{"f", "{\"a\":1}", ""}}));
  EXPECT_EQ(parse("<tool_call>{\"name\":\"\\u0066\\ud83d\\ude00\",\"arguments\":\"{\\\"a\\\":1}\"}"
                  "</tool_call>"),
            Calls({{"f😀", "{\"a\":1}", ""}}));
  EXPECT_EQ(
      parse("<tool_call>{\"arguments\":\"{\\\"\\ud800\\ud800\\udc00\\udc00\\\":1}\",\"name\":\"f\"}"
            "</tool_call>"),
      Calls({{"f", "{\"\uFFFD\U00010000\uFFFD\":1}", ""}}));
  EXPECT_EQ(parse("<tool_call>{\"name\":\"f\",\"arguments\":null}</tool_call>"),
            Calls({{"f", "{}", ""}}));
  EXPECT_EQ(parse("<tool_call>[{\"name\":\"f\",\"arguments\":{}}, {\"name\":\"g\"}]</tool_call>"),
            Calls({{"f", "{}", ""}, {"g", "{}", ""}}));
}

TEST(ReplyParserTest, WhatIsNoCallStaysContent) {
  for (const std::string_view text : {
           "<tool_call>",
           "<tool_call>{",
           "<tool_call>\n{\"name\": \"f\"",
           "a <tool_call> b",
           "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>",
           "<tool_call>{\"name\": \"f\", 5}</tool_call>",
           "<tool_call>{}</tool_call>",
           "<tool_call>{\"name\": \"\", \"arguments\": {}}</tool_call>",
           "<tool_call>{\"name\": \"\\ud800\", \"arguments\": {}}</tool_call>",
           "<tool_call>not json</tool_call>",
           "<tool_call><tool_call>x",
           "</tool_call>",
       }) {
    EXPECT_EQ(ParseAs(CallFormat::kHermes, text), Content(std::string(text)));
  }
  EXPECT_EQ(ParseAs(CallFormat::kHermes,
                    "<tool_call>{x <tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>"),
            (Reply{"", "<tool_call>{x", {{"f", "{}", ""}}}));
}

TEST(ReplyParserTest, WhatFollowsABrokenCallIsNotLost) {
  const auto parse = [](std::string_view text) { return ParseAs(CallFormat::kHermes, text); };
  EXPECT_EQ(parse("<tool_call>{\"name\":\"f\",\"arguments\":{\"a\": oops}}</tool_call>"),
            (Reply{"", "oops}}", {{"f", "{\"a\": ", ""}}}));
  EXPECT_EQ(parse("<tool_call>{\"name\":\"f\",\"arguments\":{\"a\": 1"),
            Calls({{"f", "{\"a\": 1", ""}}));
  EXPECT_EQ(parse("<tool_call>{\"name\":\"f\",\"arguments\":{}} and so"),
            (Reply{"", "and so", {{"f", "{}", ""}}}));
}

TEST(ReplyParserTest, ACallOfAFunctionThatWasNotOfferedIsContent) {
  for (const CallFormat format : kAllCallFormats) {
    const std::string other = CallExample(format, "h");
    EXPECT_EQ(ParseAs(format, other), Content(other)) << other;
  }
}

// Models forget to open what they close, and to close what they open.
TEST(ReplyParserTest, TagsWithoutTheirOtherHalfAreNoContentBesideACall) {
  const Reply one = Calls({{"f", "{\"a\": 1}", ""}});
  const std::string json = "{\"name\": \"f\", \"arguments\": {\"a\": 1}}";
  for (const std::string& text :
       {"<tool_call>" + json.substr(0, json.size() - 1) + "\n</tool_call>",
        "<tool_call>" + json + "}\n</tool_call>", "<tool_call>" + json + "</tool_call></tool_call>",
        "<tool_call>" + json + "<tool_call>", "<tool_call>" + json + "</tool_call>\n<tool_call>\n",
        "<tool_call>" + json + "</tool_call>\n<tool_call>{</tool_call>"}) {
    const bool has_brace = text.ends_with("{</tool_call>");
    EXPECT_EQ(ParseAs(CallFormat::kHermes, text), has_brace ? (Reply{"", "{", one.calls}) : one);
  }
  EXPECT_EQ(ParseAs(CallFormat::kHermes, "<tool_call>" + json + "<tool_call>" + json),
            Calls({one.calls[0], one.calls[0]}));
  for (const std::string_view text :
       {"<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>",
        "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</tool_call>"}) {
    EXPECT_EQ(ParseAs(CallFormat::kQwenXml, text), one);
  }
  EXPECT_EQ(ParseAs(CallFormat::kDeepSeekV31,
                    "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}"
                    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
            one);
  EXPECT_EQ(ParseAs(CallFormat::kKimi,
                    "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\": 1}"
                    "<|tool_call_end|><|tool_calls_section_end|>"),
            Calls({{"f", "{\"a\": 1}", "functions.f:0"}}));
  EXPECT_EQ(ParseAs(CallFormat::kGranite, "<|tool_call|>[" + json + "<|/tool_call|>"), one);
  // What the tags enclose is not lost.
  EXPECT_EQ(ParseAs(CallFormat::kHermes,
                    "<tool_call>" + json + "</tool_call><tool_call>not so</tool_call>."),
            (Reply{"", "not so.", one.calls}));
}

TEST(ReplyParserTest, CallsAreContentWithoutTools) {
  ReplyOptions options;
  options.format.calls = CallFormat::kHermes;
  const std::string text = "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>";
  EXPECT_EQ(Parse(options, text), Content(text));
}

TEST(ReplyParserTest, DropsWhatFollowsTheLastCallAllowed) {
  ReplyOptions options = OptionsOf(CallFormat::kHermes);
  options.max_calls = 1;
  const std::string call = "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>";
  EXPECT_EQ(Parse(options, call + "\n" + call + "x"), Calls({{"f", "{}", ""}}));
}

TEST(ReplyParserTest, QwenXmlCalls) {
  const auto parse = [](std::string_view text) { return ParseAs(CallFormat::kQwenXml, text); };
  EXPECT_EQ(
      parse("Well.\n<tool_call>\n<function=f>\n<parameter=s>\nline \"1\"\n\\2 < 3\n"
            "</parameter>\n<parameter=a>\n[1, 2]\n</parameter>\n</function>\n</tool_call>"),
      (Reply{"", "Well.", {{"f", "{\"s\": \"line \\\"1\\\"\\n\\\\2 < 3\", \"a\": [1, 2]}", ""}}}));
  EXPECT_EQ(parse("<function=f>\n</function>"), Calls({{"f", "{}", ""}}));
  EXPECT_EQ(parse("<tool_call><function=f><parameter=a>True</parameter></function></tool_call>"
                  "<tool_call><function=f><parameter=a>two words</parameter></function>"
                  "</tool_call>"),
            Calls({{"f", "{\"a\": true}", ""}, {"f", "{\"a\": \"two words\"}", ""}}));
  // A parameter that no schema knows is a string.
  EXPECT_EQ(parse("<function=g><parameter=x>1</parameter></function>"),
            Calls({{"g", "{\"x\": \"1\"}", ""}}));
  EXPECT_EQ(parse("<function=f><parameter=s>cut of"), Calls({{"f", "{\"s\": \"cut of", ""}}));
  EXPECT_EQ(parse("<tool_call>\n<function"), Content("<tool_call>\n<function"));
}

TEST(ReplyParserTest, GlmCalls) {
  const auto parse = [](std::string_view text) { return ParseAs(CallFormat::kGlm, text); };
  EXPECT_EQ(parse("<think>hm</think>\nOk\n<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1"
                  "</arg_value>\n<arg_key>s</arg_key>\n<arg_value>x\ny</arg_value>\n</tool_call>"),
            (Reply{"hm", "Ok", {{"f", "{\"a\": 1, \"s\": \"x\\ny\"}", ""}}}));
  EXPECT_EQ(parse("<tool_call>get_weather\n</tool_call><tool_call>f</tool_call>"),
            Calls({{"get_weather", "{}", ""}, {"f", "{}", ""}}));
  EXPECT_EQ(parse("<tool_call>no name"), Content("<tool_call>no name"));
}

TEST(ReplyParserTest, MistralCallsInBothShapes) {
  const auto parse = [](std::string_view text) { return ParseAs(CallFormat::kMistral, text); };
  EXPECT_EQ(parse("[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": 1}, \"id\": \"abc\"},"
                  " {\"name\": \"g\", \"arguments\": {}}]"),
            Calls({{"f", "{\"a\": 1}", ""}, {"g", "{}", ""}}));
  EXPECT_EQ(parse("Ok[TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]g[CALL_ID]abc[ARGS]{}"),
            (Reply{"", "Ok", {{"f", "{\"a\": 1}", ""}, {"g", "{}", ""}}}));
  EXPECT_EQ(parse("[TOOL_CALLS]f{\"a\": 1}"), Calls({{"f", "{\"a\": 1}", ""}}));
  EXPECT_EQ(parse("[TOOL_CALLS]what?"), Content("[TOOL_CALLS]what?"));
  EXPECT_EQ(parse("[TOOL_CALLS][1]"), Content("[TOOL_CALLS][1]"));
}

TEST(ReplyParserTest, DeepSeekCalls) {
  EXPECT_EQ(
      ParseAs(CallFormat::kDeepSeekV3,
              "Ok.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n"
              "{\"a\": 1}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n"
              "```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
      (Reply{"", "Ok.", {{"f", "{\"a\": 1}", ""}, {"g", "{}", ""}}}));
  EXPECT_EQ(ParseAs(CallFormat::kDeepSeekV31,
                    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}"
                    "<｜tool▁call▁end｜><｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
                    "<｜tool▁calls▁end｜>"),
            Calls({{"f", "{\"a\": 1}", ""}, {"g", "{}", ""}}));
  const std::string broken = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>oops";
  EXPECT_EQ(ParseAs(CallFormat::kDeepSeekV31, broken), Content(broken));
}

TEST(ReplyParserTest, KimiCallsKeepTheirIds) {
  EXPECT_EQ(ParseAs(CallFormat::kKimi,
                    "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
                    "<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|><|tool_call_begin|>"
                    "functions.g:1<|tool_call_argument_begin|>{}<|tool_call_end|>"
                    "<|tool_calls_section_end|>"),
            Calls({{"f", "{\"a\": 1}", "functions.f:0"}, {"g", "{}", "functions.g:1"}}));
}

TEST(ReplyParserTest, ListsOfCallsBetweenTags) {
  EXPECT_EQ(
      ParseAs(CallFormat::kGranite, "<|tool_call|>[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]"),
      Calls({{"f", "{\"a\": 1}", ""}}));
  EXPECT_EQ(ParseAs(CallFormat::kCommandR,
                    "<|START_ACTION|>[\n {\"tool_call_id\": \"0\", \"tool_name\": \"f\", "
                    "\"parameters\": {\"a\": 1}}\n]<|END_ACTION|>"),
            Calls({{"f", "{\"a\": 1}", ""}}));
}

TEST(ReplyParserTest, LlamaCallsFillTheReply) {
  const auto parse = [](std::string_view text) { return ParseAs(CallFormat::kLlama, text); };
  EXPECT_EQ(parse("{\"name\": \"f\", \"parameters\": {\"a\": 1}}"),
            Calls({{"f", "{\"a\": 1}", ""}}));
  EXPECT_EQ(parse("<|python_tag|>{\"type\": \"function\", \"name\": \"f\", \"parameters\": {}}; "
                  "{\"name\": \"get_weather\", \"parameters\": {\"x\": \"y\"}}\n"),
            Calls({{"f", "{}", ""}, {"get_weather", "{\"x\": \"y\"}", ""}}));
  // JSON that calls no tool is an answer.
  for (const std::string_view text :
       {"{\"name\": \"Bob\", \"parameters\": {}}", "{\"answer\": 42}", "[1, 2]", "{}", "{",
        "<|python_tag|>search.call(query=\"x\")", "see {\"name\": \"f\", \"parameters\": {}}"}) {
    EXPECT_EQ(parse(text), Content(std::string(text)));
  }
}

TEST(ReplyParserTest, PlainJsonCallsMayStandInAFence) {
  const auto parse = [](std::string_view text) { return ParseAs(CallFormat::kPlainJson, text); };
  EXPECT_EQ(parse("```json\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n```"),
            Calls({{"f", "{\"a\": 1}", ""}}));
  EXPECT_EQ(parse("[{\"name\": \"f\", \"arguments\": {}}]"), Calls({{"f", "{}", ""}}));
  EXPECT_EQ(parse("```json\n{\"a\": 1}\n```"), Content("```json\n{\"a\": 1}\n```"));
}

TEST(ReplyParserTest, HarmonyChannels) {
  const auto parse = [](std::string_view text) { return ParseAs(CallFormat::kHarmony, text); };
  EXPECT_EQ(parse("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final"
                  "<|message|>Yes. "),
            (Reply{"Hm.", "Yes. ", {}}));
  EXPECT_EQ(parse("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>analysis"
                  "<|message|>b<|end|><|start|>assistant<|channel|>commentary<|message|>c<|end|>"),
            (Reply{"a\nb", "c", {}}));
  EXPECT_EQ(parse("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary"
                  " to=functions.f <|constrain|>json<|message|>{\"a\": 1}"),
            (Reply{"Hm.", "", {{"f", "{\"a\": 1}", ""}}}));
  EXPECT_EQ(parse(" to=functions.f<|channel|>commentary json<|message|>{\"a\": 1}<|call|>"
                  "<|start|>assistant to=functions.g<|channel|>commentary<|message|>{}<|call|>"),
            Calls({{"f", "{\"a\": 1}", ""}, {"g", "{}", ""}}));
  EXPECT_EQ(parse("No channel."), Content("No channel."));
  EXPECT_EQ(parse("<|channel|>final"), Content("<|channel|>final"));
}

TEST(ReplyParserTest, TextStreamsOnAsSoonAsItIsNoTag) {
  ReplyParser parser(OptionsOf(CallFormat::kHermes));
  const auto content = [](std::string text) {
    return ElementsAre(ReplyDelta{.kind = ReplyDeltaKind::kContent, .text = std::move(text)});
  };
  EXPECT_THAT(parser.Push("Well"), content("Well"));
  EXPECT_THAT(parser.Push(" \n"), IsEmpty());
  EXPECT_THAT(parser.Push("<tool"), IsEmpty());
  EXPECT_THAT(parser.Push("s"), content(" \n<tools"));
  EXPECT_THAT(parser.Push("<tool_call>"), IsEmpty());
  EXPECT_THAT(parser.Push("!"), content("<tool_call>!"));
  EXPECT_THAT(parser.Push("<tool_ca"), IsEmpty());
  EXPECT_THAT(parser.Finish(), content("<tool_ca"));
}

TEST(ReplyParserTest, ArgumentsStreamAsTheyArrive) {
  ReplyParser parser(OptionsOf(CallFormat::kHermes));
  EXPECT_THAT(parser.Push("<tool_call>{\"name\": \"f\", \"arguments\": "), IsEmpty());
  EXPECT_THAT(parser.Push("{\"a\": "),
              ElementsAre(ReplyDelta{.kind = ReplyDeltaKind::kCallBegun, .text = "f"},
                          ReplyDelta{.kind = ReplyDeltaKind::kCallArguments, .text = "{\"a\": "}));
  EXPECT_THAT(parser.Push("1}"),
              ElementsAre(ReplyDelta{.kind = ReplyDeltaKind::kCallArguments, .text = "1}"}));
  EXPECT_THAT(parser.Push("}</tool_call>"), IsEmpty());
  EXPECT_THAT(parser.Finish(), IsEmpty());
}

TEST(ReplyParserTest, SaysWhetherTheModelReasons) {
  ReplyParser parser(OptionsOf(CallFormat::kHermes));
  parser.Push("<think>");
  EXPECT_TRUE(parser.in_reasoning());
  parser.Push("a</think>");
  EXPECT_FALSE(parser.in_reasoning());
  ReplyParser harmony(OptionsOf(CallFormat::kHarmony));
  harmony.Push("<|channel|>analysis<|message|>a");
  EXPECT_TRUE(harmony.in_reasoning());
  harmony.Push("<|end|>");
  EXPECT_FALSE(harmony.in_reasoning());
}

TEST(ReplyParserTest, DeepNestingEndsTheCallAndNothingElse) {
  const std::string deep(100'000, '[');
  ReplyParser parser(OptionsOf(CallFormat::kHermes));
  Reply reply;
  Collect(parser.Push("<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":" + deep), reply);
  Collect(parser.Finish(), reply);
  ASSERT_EQ(reply.calls.size(), 1U);
  EXPECT_EQ(reply.calls[0].arguments.size() + reply.content.size(), deep.size() + 5);
}

TEST(ReplyParserTest, LongRepliesTakeLinearTime) {
  ReplyParser parser(OptionsOf(CallFormat::kHermes));
  size_t size_bytes = 0;
  const std::string piece = "<tool_call>{ <tool_ \n\n\n";
  for (int i = 0; i < 20'000; ++i) {
    for (const ReplyDelta& delta : parser.Push(piece)) size_bytes += delta.text.size();
  }
  for (const ReplyDelta& delta : parser.Finish()) size_bytes += delta.text.size();
  EXPECT_EQ(size_bytes, piece.size() * 20'000);
}

TEST(ReplyParserTest, ExamplesOfCallsAreCalls) {
  for (const CallFormat format : kAllCallFormats) {
    const Reply reply = ParseAs(format, CallExample(format));
    EXPECT_EQ(reply.content, "") << CallExample(format);
    ASSERT_EQ(reply.calls.size(), 1U) << CallExample(format);
    EXPECT_EQ(reply.calls[0].name, "f");
    EXPECT_EQ(reply.calls[0].arguments, "{\"a\": 1}") << CallExample(format);
  }
}

}  // namespace
}  // namespace weft
