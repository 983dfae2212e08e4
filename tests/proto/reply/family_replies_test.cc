// Replies as the families write them that have a form of their own.
#include <string>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/reply/reply_format.h"
#include "proto/reply/reply_parser.h"
#include "tests/proto/reply/parse_reply.h"

namespace weft {
namespace {

TEST(FamilyRepliesTest, XmlCallsOfOthers) {
  EXPECT_EQ(ParseAs(CallFormat::kSeedXml,
                    "Well.\n<seed:tool_call>\n<function=f>\n<parameter=a>1</parameter>\n"
                    "<parameter=s>x\ny</parameter>\n</function>\n</seed:tool_call>"),
            (Reply{"", "Well.", {{"f", "{\"a\": 1, \"s\": \"x\\ny\"}", ""}}}));
  EXPECT_EQ(ParseAs(CallFormat::kMiniMax,
                    "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">[1, 2]"
                    "</parameter>\n<parameter name=\"s\">1</parameter>\n</invoke>\n"
                    "<invoke name=\"g\">\n</invoke>\n</minimax:tool_call>"),
            Calls({{"f", "{\"a\": [1, 2], \"s\": \"1\"}", ""}, {"g", "{}", ""}}));
  EXPECT_EQ(ParseAs(CallFormat::kMiniMax, "<minimax:tool_call>\n<invoke name=\"no\">\n</invoke>"),
            Content("<minimax:tool_call>\n<invoke name=\"no\">\n</invoke>"));
  EXPECT_EQ(ParseAs(CallFormat::kGlm, "<tool_call>g</tool_call>"), Calls({{"g", "{}", ""}}));
}

TEST(FamilyRepliesTest, JsonCallsBetweenOtherTags) {
  const Reply expected = Calls({{"f", "{\"a\": 1}", ""}});
  const std::string call = "{\"name\": \"f\", \"arguments\": {\"a\": 1}}";
  EXPECT_EQ(ParseAs(CallFormat::kHunyuan, "<tool_calls>[" + call + "]</tool_calls>"), expected);
  EXPECT_EQ(ParseAs(CallFormat::kNemotron, "<TOOLCALL>[" + call + "]</TOOLCALL>"), expected);
  EXPECT_EQ(ParseAs(CallFormat::kNemotronMini,
                    "<toolcall> {\"type\": \"function\", \"function\": " + call + "} </toolcall>"),
            expected);
  EXPECT_EQ(ParseAs(CallFormat::kCommandAction,
                    "Action:\n```json\n[\n    {\n        \"tool_name\": \"f\",\n        "
                    "\"parameters\": {\"a\": 1}\n    }\n]\n```"),
            expected);
  EXPECT_EQ(ParseAs(CallFormat::kCommandAction, "Action: none. ```json\n[]```"),
            Content("Action: none. ```json\n[]```"));
  EXPECT_EQ(ParseAs(CallFormat::kApertus,
                    "Let me.<|tools_prefix|>[{\"f\": {\"a\": 1}}, {\"g\": {}}]<|tools_suffix|>"),
            (Reply{"", "Let me.", {{"f", "{\"a\": 1}", ""}, {"g", "{}", ""}}}));
  for (const std::string_view text :
       {"<|tools_prefix|>[]<|tools_suffix|>", "<|tools_prefix|>[{\"no\": {}}]<|tools_suffix|>",
        "<|tools_prefix|>[{\"f\": 1}]", "<|tools_prefix|>[{}]", "<|tools_prefix|>f"}) {
    EXPECT_EQ(ParseAs(CallFormat::kApertus, text), Content(std::string(text)));
  }
}

TEST(FamilyRepliesTest, GemmaCallsHaveQuotesOfTheirOwn) {
  const auto parse = [](std::string_view text) { return ParseAs(CallFormat::kGemma, text); };
  EXPECT_EQ(parse("<|tool_call>call:f{a:1,s:<|\"|>x \"y\"\n{z},<|\"|>}<tool_call|>"),
            Calls({{"f", "{\"a\": 1, \"s\": \"x \\\"y\\\"\\n{z},\"}", ""}}));
  EXPECT_EQ(parse("<|tool_call>call:f{a:[true,-1.5e3,{<|\"|>k k<|\"|>:null,l:[]}],b:{}}<tool_call|>"
                  "<|tool_call>call:g{}<tool_call|>"),
            Calls({{"f", "{\"a\": [true, -1.5e3, {\"k k\": null, \"l\": []}], \"b\": {}}", ""},
                   {"g", "{}", ""}}));
  // As other models' habits have it: JSON's quotes, Python's constants, words without quotes.
  EXPECT_EQ(parse("<|tool_call>call:f{ \"a\" : \"x\\n\" , b: True, c: two words }<tool_call|>"),
            Calls({{"f", "{\"a\": \"x\\n\", \"b\": true, \"c\": \"two words\"}", ""}}));
  EXPECT_EQ(parse("<|tool_call>call:f{a:1"), Calls({{"f", "{\"a\": ", ""}}));
  EXPECT_EQ(parse("<|tool_call>call:f{a:1}}<tool_call|> and so"),
            (Reply{"", "}and so", {{"f", "{\"a\": 1}", ""}}}));
  for (const std::string_view text :
       {"<|tool_call>call:no{}<tool_call|>", "<|tool_call>f{}<tool_call|>", "<|tool_call>call:f()",
        "<|tool_call>call:"}) {
    EXPECT_EQ(parse(text), Content(std::string(text)));
  }
  EXPECT_EQ(ParseAs(CallFormat::kFunctionGemma,
                    "<start_function_call>call:f{s:<escape>x<escape>}<end_function_call>"),
            Calls({{"f", "{\"s\": \"x\"}", ""}}));
  ReplyOptions options = OptionsOf(CallFormat::kGemma);
  options.format = ReplyFormatOf("<|channel>thought <channel|> <|tool_call>call:");
  EXPECT_EQ(options.format.calls, CallFormat::kGemma);
  EXPECT_EQ(Parse(options, "<|channel>thought\nHm.\n<channel|>Yes."), (Reply{"Hm.", "Yes.", {}}));
  EXPECT_THAT(TagsOf(options.format, false), testing::Contains("<|channel>"));
}

TEST(FamilyRepliesTest, ValuesThatAreNotJsonNestSoDeepAndNoDeeper) {
  for (const int depth : {60, 70, 200}) {
    const auto count = static_cast<size_t>(depth);
    const std::string lists = std::string(count, '[').append(count, ']');
    const auto dict = ParseAs(CallFormat::kGemma, fmt::format("<|tool_call>call:f{{a:{}}}", lists));
    const auto python = ParseAs(CallFormat::kOlmo, fmt::format("<function_calls>f(a={})", lists));
    for (const Reply& reply : {dict, python}) {
      ASSERT_EQ(reply.calls.size(), 1u);
      EXPECT_EQ(reply.content.empty(), depth == 60) << depth;
    }
  }
}

TEST(FamilyRepliesTest, PythonsCalls) {
  EXPECT_EQ(ParseAs(CallFormat::kOlmo,
                    "<function_calls>\nf(a=1, s='it\\'s \"x\"\\n\\u00e9\\d')\n"
                    "g()\n</function_calls>"),
            Calls({{"f", "{\"a\": 1, \"s\": \"it's \\\"x\\\"\\né\\\\d\"}", ""}, {"g", "{}", ""}}));
  EXPECT_EQ(ParseAs(CallFormat::kLfm2,
                    "<|tool_call_start|>[f(a=[1, (2.5, None), {\"k\": True, 'l': [],}]), g( ), "
                    "get_weather(city=\"Oslo\",)]<|tool_call_end|>ok"),
            (Reply{"",
                   "ok",
                   {{"f", "{\"a\": [1, [2.5, null], {\"k\": true, \"l\": []}]}", ""},
                    {"g", "{}", ""},
                    {"get_weather", "{\"city\": \"Oslo\"}", ""}}}));
  for (const std::string_view text :
       {"<function_calls>\nno(a=1)\n</function_calls>", "<function_calls>f</function_calls>",
        "<function_calls>f(1)</function_calls>", "<function_calls>"}) {
    EXPECT_EQ(ParseAs(CallFormat::kOlmo, text), Content(std::string(text)));
  }
  EXPECT_EQ(ParseAs(CallFormat::kOlmo, "<function_calls>f(s='a<function_calls>g()"),
            Calls({{"f", "{\"s\": \"a", ""}, {"g", "{}", ""}}));
  // Llama's, without tags or between those of code.
  EXPECT_EQ(ParseAs(CallFormat::kLlama, "[f(a=1), g()]"),
            Calls({{"f", "{\"a\": 1}", ""}, {"g", "{}", ""}}));
  EXPECT_EQ(ParseAs(CallFormat::kLlama, "<|python_start|>[f(a=1)]<|python_end|>"),
            Calls({{"f", "{\"a\": 1}", ""}}));
  EXPECT_EQ(ParseAs(CallFormat::kLlama,
                    "<|python_start|>{\"name\": \"f\", \"parameters\": {}}<|python_end|>"),
            Calls({{"f", "{}", ""}}));
  EXPECT_EQ(ParseAs(CallFormat::kLlama, "[f(x) = 2, as you know]"),
            Content("[f(x) = 2, as you know]"));
}

// What a list has besides is text, from behind its last call on.
TEST(FamilyRepliesTest, ListsThatAreNotAllCalls) {
  EXPECT_EQ(ParseAs(CallFormat::kLfm2, "<|tool_call_start|>[f(a=1), oops]"),
            (Reply{"", ", oops]", {{"f", "{\"a\": 1}", ""}}}));
  EXPECT_EQ(ParseAs(CallFormat::kHunyuan,
                    "<tool_calls>[{\"name\": \"f\", \"arguments\": {\"a\": 1}}, oops]"),
            (Reply{"", ", oops]", {{"f", "{\"a\": 1}", ""}}}));
  EXPECT_EQ(ParseAs(CallFormat::kApertus, "<|tools_prefix|>[{\"f\": {\"a\": 1}}, oops]"),
            (Reply{"", ", oops]", {{"f", "{\"a\": 1}", ""}}}));
}

TEST(FamilyRepliesTest, Glm4sNamesStandOnALineOfTheirOwn) {
  const auto parse = [](std::string_view text) { return ParseAs(CallFormat::kGlm4, text); };
  EXPECT_EQ(parse("f\n{\"a\": 1}"), Calls({{"f", "{\"a\": 1}", ""}}));
  EXPECT_EQ(parse("\nf\n{\"a\": 1}\ng\n{}\n"), Calls({{"f", "{\"a\": 1}", ""}, {"g", "{}", ""}}));
  EXPECT_EQ(parse("{\"name\": \"f\", \"arguments\": {\"a\": 1}}"),
            Calls({{"f", "{\"a\": 1}", ""}}));
  for (const std::string_view text :
       {"no\n{\"a\": 1}", "f is a function:\n{\"a\": 1}", "f", "f\n[1]", "f\n\nand so"}) {
    EXPECT_EQ(parse(text), Content(std::string(text)));
  }
  EXPECT_EQ(parse("f\n{}\nDone."), (Reply{"", "Done.", {{"f", "{}", ""}}}));
}

TEST(FamilyRepliesTest, SolarsMessages) {
  const auto parse = [](std::string_view text) { return ParseAs(CallFormat::kSolar, text); };
  EXPECT_EQ(parse("<|think|>Hm.<|end|><|begin|>assistant<|content|>Yes."),
            (Reply{"Hm.", "Yes.", {}}));
  EXPECT_EQ(parse("<|think|>Hm.<|end|><|begin|>assistant<|tool_calls|><|tool_call:begin|>a1b2c3d4e5"
                  "<|tool_call:name|>f<|tool_call:args|>{\"a\": 1}<|tool_call:end|>"
                  "<|tool_call:begin|>b<|tool_call:name|>g<|tool_call:args|>{}<|tool_call:end|>"),
            (Reply{"Hm.", "", {{"f", "{\"a\": 1}", "a1b2c3d4e5"}, {"g", "{}", "b"}}}));
  EXPECT_EQ(parse("<|content|>a<|end|>"), Content("a"));
  const std::string unknown =
      "<|tool_call:begin|>b<|tool_call:name|>no<|tool_call:args|>{}<|tool_call:end|>";
  EXPECT_EQ(parse("<|tool_calls|>" + unknown), Content("<|tool_calls|>" + unknown));
}

TEST(FamilyRepliesTest, AnswersInTagsOfTheirOwn) {
  ReplyOptions options = OptionsOf(CallFormat::kHunyuan);
  options.format = ReplyFormatOf("<think></think><answer></answer><tool_calls>");
  EXPECT_EQ(options.format.calls, CallFormat::kHunyuan);
  EXPECT_EQ(Parse(options, "<think>\nHm.\n</think>\n<answer>\nYes.\n</answer>"),
            (Reply{"Hm.", "Yes.", {}}));
  options.format = ReplyFormatOf("Here is my thought process: ... Here is my response:");
  EXPECT_EQ(Parse(options, "Here is my thought process: Hm.\n\nHere is my response: Yes."),
            (Reply{"Hm.", "Yes.", {}}));
}

}  // namespace
}  // namespace weft
