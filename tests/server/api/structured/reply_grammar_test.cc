#include "server/api/structured/reply_grammar.h"

#include <algorithm>
#include <memory>
#include <random>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "grammar/mask/token_trie.h"
#include "grammar/schema/json_schema.h"
#include "proto/reply/call_syntax.h"
#include "proto/reply/json_scanner.h"
#include "tests/proto/reply/call_formats.h"
#include "tests/proto/reply/parse_reply.h"
#include "tests/server/api/structured/list_tokenizer.h"
#include "tests/server/api/structured/random_text.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

const ordered_json& Tools() {
  static const ordered_json tools = ordered_json::parse(R"([
    {"name": "get_weather", "parameters": {"type": "object", "properties": {
       "city": {"type": "string", "maxLength": 12},
       "days": {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
       "unit": {"type": "string", "enum": ["C", "F"]},
       "wind": {"type": "boolean"}}, "required": ["city", "wind"], "additionalProperties": false}},
    {"name": "f", "parameters": {"type": "object", "properties": {
       "a": {"type": "number", "minimum": 1},
       "n": {"type": ["integer", "null"]}}, "required": ["a"], "additionalProperties": false}},
    {"name": "stop", "parameters": {"type": "object", "properties": {},
       "additionalProperties": false}}])");
  return tools;
}

// What the bytes of a text are made of in this test, special tokens' too.
using std::string_view_literals::operator""sv;
constexpr std::string_view kAlphabet =
    "\"'{}[]():,;=<>/|_ \n`.0123456789-abcdefghijklmnopqrstuvwxyzACDEFGILMNOPRSTW"
    "\xEF\xBD\x9C\xE2\x96\x81\xFF\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C"sv;

class ReplyGrammarTest : public ::testing::TestWithParam<CallFormat> {
 protected:
  explicit ReplyGrammarTest(bool has_tags = false) : has_tags_(has_tags) {
    options_.format.calls = GetParam();
    options_.format.reasons = true;
    if (HasMessages(GetParam())) {
      options_.format.reasoning_open.clear();
      options_.format.reasoning_close.clear();
    }
    options_.parses_calls = true;
    for (const ordered_json& tool : Tools()) {
      ToolSignature signature;
      signature.name = tool["name"];
      for (const auto& [name, schema] : tool["parameters"]["properties"].items())
        signature.parameter_is_string.emplace(name, schema["type"] == "string");
      options_.tools.push_back(signature);
      tools_.push_back({.name = tool["name"],
                        .parameters = &tool["parameters"],
                        .strict = true,
                        .path = "tools"});
    }
    std::vector<std::string> tags;
    for (const std::string_view tag : TagsOf(options_.format, true)) {
      const bool is_token = has_tags && (tag[0] == '<' || tag[0] == '[');
      if (is_token) tags.emplace_back(tag);
    }
    tokenizer_ = std::make_shared<const TagTokenizer>(std::move(tags));
  }

  std::unique_ptr<Recognizer> Compile(CallUse calls) {
    const ReplyGrammarRequest request{.reply = options_,
                                      .calls = calls,
                                      .tools = tools_,
                                      .output = output_,
                                      .tools_path = "tools"};
    ApiResult<CompiledOutput> compiled = CompileReply(request, *tokenizer_, {});
    if (!compiled) {
      ADD_FAILURE() << compiled.error().param << ": " << compiled.error().message;
      return nullptr;
    }
    EXPECT_EQ(compiled->loose_tool_count, 0);
    return compiled->make();
  }

  // As the engine shows it: special tokens become their tags.
  std::string Visible(std::string_view text) const {
    std::string visible;
    for (size_t i = 0; i < text.size(); ++i) {
      if (static_cast<uint8_t>(text[i]) != 0xFF) {
        visible += text[i];
        continue;
      }
      const int token = text[i + 1] * 16384 + text[i + 2] * 128 + text[i + 3];
      visible += tokenizer_->TokenText(token);
      i += 3;
    }
    return visible;
  }
  // And back.
  std::string Spelled(std::string text) const {
    for (TokenId token = TagTokenizer::kFirstTag; token < tokenizer_->vocab_size(); ++token) {
      const std::string_view tag = tokenizer_->TokenText(token);
      for (size_t at = text.find(tag); at != std::string::npos; at = text.find(tag, at))
        text.replace(at, tag.size(), SpecialTokenBytes(static_cast<uint32_t>(token)));
    }
    return text;
  }

  Reply ParseOnce(const std::string& text) const { return ParsePieces(options_, {text}); }

  static void CheckCalls(const Reply& reply, const std::string& text) {
    for (const Call& call : reply.calls) {
      const auto tool = std::ranges::find_if(
          Tools(), [&](const auto& each) { return each["name"] == call.name; });
      ASSERT_NE(tool, Tools().end()) << text;
      const ordered_json arguments = ordered_json::parse(call.arguments, nullptr, false);
      ASSERT_FALSE(arguments.is_discarded()) << text << "\n" << call.arguments;
      const auto schema = JsonSchema::Compile((*tool)["parameters"]).value();
      const auto machine = schema.NewMachine({.space = JsonSpace::kAny, .any_order = true});
      EXPECT_TRUE(AcceptsText(*machine, call.arguments)) << text << "\n" << call.arguments;
    }
  }

  const bool has_tags_;
  ReplyOptions options_;
  std::vector<CallableTool> tools_;
  OutputFormat output_;
  std::shared_ptr<const TagTokenizer> tokenizer_;
  std::mt19937 random_{20};
};

class TaggedReplyGrammarTest : public ReplyGrammarTest {
 protected:
  TaggedReplyGrammarTest() : ReplyGrammarTest(true) {}
};

void CheckForcedCalls(const std::string& text, const Reply& reply) {
  EXPECT_FALSE(reply.calls.empty()) << text;
  EXPECT_EQ(reply.content, "") << text;
}

#define WEFT_EACH_FORMAT(Fixture)                             \
  INSTANTIATE_TEST_SUITE_P(                                   \
      Formats, Fixture, ::testing::ValuesIn(kAllCallFormats), \
      [](const auto& format) { return std::to_string(static_cast<int>(format.param)); })
WEFT_EACH_FORMAT(ReplyGrammarTest);
WEFT_EACH_FORMAT(TaggedReplyGrammarTest);

constexpr int kTexts = 60;  // a format

TEST_P(ReplyGrammarTest, WhatMustBeCallsIsReadAsCallsThatFit) {
  const std::unique_ptr<Recognizer> recognizer = Compile(CallUse::kMust);
  ASSERT_NE(recognizer, nullptr);
  for (int i = 0; i < kTexts; ++i) {
    const std::string text = RandomText(*recognizer, "", 120, kAlphabet, random_);
    ASSERT_TRUE(AcceptsText(*recognizer, text)) << text;
    const Reply reply = ParseOnce(text);
    CheckForcedCalls(text, reply);
    CheckCalls(reply, text);
  }
}

// The one parameter of a tool may be a language of its own; what of it would end it in the syntax
// is left out or escaped.
TEST_P(ReplyGrammarTest, AnInputIsATextOfItsGrammar) {
  static const ordered_json parameters = ordered_json::parse(
      R"({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"],
          "additionalProperties": false})");
  OutputFormat input;
  input.kind = OutputKind::kRegex;
  input.path = "tools[0].format.definition";
  input.text = R"re(add [a-z"\\\n<>/=]{0,12}\n(end)?)re";
  options_.tools = {{.name = "patch", .parameter_is_string = {{"input", true}}}};
  tools_ = {{.name = "patch", .parameters = &parameters, .input = &input, .path = "tools"}};
  const std::unique_ptr<Recognizer> recognizer = Compile(CallUse::kMust);
  ASSERT_NE(recognizer, nullptr);
  const std::string alphabet = std::string(kAlphabet) + "\\";  // for escapes
  const std::regex expected("add [a-z\"\\\\\n<>/=]{0,12}\n(end)?");
  for (int i = 0; i < kTexts; ++i) {
    const std::string text = RandomText(*recognizer, "", 120, alphabet, random_);
    ASSERT_TRUE(AcceptsText(*recognizer, text)) << text;
    const Reply reply = ParseOnce(text);
    CheckForcedCalls(text, reply);
    for (const Call& call : reply.calls) {
      const ordered_json arguments = ordered_json::parse(call.arguments, nullptr, false);
      ASSERT_TRUE(arguments.is_object() && arguments.size() == 1) << text << "\n" << call.arguments;
      EXPECT_TRUE(std::regex_match(arguments["input"].get<std::string>(), expected))
          << text << "\n"
          << call.arguments;
    }
  }
}

TEST_P(TaggedReplyGrammarTest, WhatMustBeCallsIsReadAsCallsThatFit) {
  const std::unique_ptr<Recognizer> recognizer = Compile(CallUse::kMust);
  ASSERT_NE(recognizer, nullptr);
  for (int i = 0; i < kTexts; ++i) {
    const std::string text = RandomText(*recognizer, "", 120, kAlphabet, random_);
    ASSERT_TRUE(AcceptsText(*recognizer, text)) << text;
    const std::string visible = Visible(text);
    const Reply reply = ParseOnce(visible);
    CheckForcedCalls(visible, reply);
    CheckCalls(reply, visible);
  }
}

TEST_P(ReplyGrammarTest, OneCallIsOne) {
  options_.max_calls = 1;
  const std::unique_ptr<Recognizer> recognizer = Compile(CallUse::kMust);
  ASSERT_NE(recognizer, nullptr);
  options_.max_calls = 0;  // the parser would drop what is too much
  for (int i = 0; i < kTexts; ++i) {
    const std::string text = RandomText(*recognizer, "", 120, kAlphabet, random_);
    ASSERT_TRUE(AcceptsText(*recognizer, text)) << text;
    const Reply reply = ParseOnce(text);
    EXPECT_EQ(reply.calls.size(), 1U) << text;
  }
}

TEST_P(ReplyGrammarTest, TheFormatsOwnCallsAreAllowed) {
  const std::string example = CallExample(GetParam());
  for (const CallUse calls : {CallUse::kMust, CallUse::kMay}) {
    const std::unique_ptr<Recognizer> recognizer = Compile(calls);
    ASSERT_NE(recognizer, nullptr);
    EXPECT_TRUE(AcceptsText(*recognizer, example)) << example;
  }
  EXPECT_EQ(ParseOnce(example).calls.size(), 1U);
}

TEST_P(TaggedReplyGrammarTest, TheFormatsOwnCallsAreAllowedAndTagsCannotBeForged) {
  const std::string example = CallExample(GetParam());
  const std::string spelled = Spelled(example);
  for (const CallUse calls : {CallUse::kMust, CallUse::kMay}) {
    const std::unique_ptr<Recognizer> recognizer = Compile(calls);
    ASSERT_NE(recognizer, nullptr);
    EXPECT_TRUE(AcceptsText(*recognizer, spelled)) << example;
    if (spelled == example) continue;
    EXPECT_FALSE(AcceptsText(*recognizer, example)) << example;
  }
}

TEST_P(ReplyGrammarTest, WhatIsNoCallIsRead) {
  // Among free text, calls that have begun are whole, and all of them.
  const std::string example = CallExample(GetParam());
  const std::unique_ptr<Recognizer> recognizer = Compile(CallUse::kMay);
  ASSERT_NE(recognizer, nullptr);
  for (int i = 0; i < kTexts; ++i) {
    const std::string begin =
        example.substr(0, std::uniform_int_distribution<size_t>(0, example.size())(random_));
    const std::string text = RandomText(*recognizer, begin, 60, kAlphabet, random_);
    ASSERT_TRUE(AcceptsText(*recognizer, text)) << text;
    CheckCalls(ParseOnce(text), text);
  }
  if (HasMessages(GetParam())) return;
  EXPECT_TRUE(AcceptsText(*recognizer, "It is 3 < 4, and that is all."));
  EXPECT_TRUE(AcceptsText(*recognizer, "<think>\nHm <tool_call>\n</think>\n\nHello."));
}

TEST_P(ReplyGrammarTest, AnAnswerFitsOrThereAreCalls) {
  output_.kind = OutputKind::kJsonSchema;
  output_.path = "response_format.json_schema.schema";
  output_.schema = {{"type", "object"},
                    {"properties", {{"text", {{"type", "string"}}}}},
                    {"required", {"text"}},
                    {"additionalProperties", false}};
  const std::unique_ptr<Recognizer> recognizer = Compile(CallUse::kMay);
  ASSERT_NE(recognizer, nullptr);
  EXPECT_TRUE(AcceptsText(*recognizer, CallExample(GetParam())));
  int answers = 0;
  for (int i = 0; i < kTexts; ++i) {
    const std::string text = RandomText(*recognizer, "", 60, kAlphabet, random_);
    ASSERT_TRUE(AcceptsText(*recognizer, text)) << text;
    const Reply reply = ParseOnce(text);
    CheckCalls(reply, text);
    if (!reply.calls.empty()) continue;
    ++answers;
    const ordered_json answer = ordered_json::parse(reply.content, nullptr, false);
    ASSERT_FALSE(answer.is_discarded()) << text << "\n" << reply.content;
    EXPECT_TRUE(answer["text"].is_string()) << text;
  }
  EXPECT_GT(answers, 0);
}

// What no object that is written member by member can be held to.
const ordered_json& LooseParameters() {
  static const ordered_json parameters = ordered_json::parse(
      R"({"type": "object", "properties": {"a": {"type": "number"}, "s": {"type": "string"}},
          "minProperties": 1, "additionalProperties": false})");
  return parameters;
}

bool WritesJson(CallFormat format) {
  return FindSyntax(kXmlCallSyntaxes, format) == nullptr &&
         FindSyntax(kDictCallSyntaxes, format) == nullptr &&
         FindSyntax(kPythonCallSyntaxes, format) == nullptr;
}

// Numbers of any size are.
bool IsJson(std::string_view text) {
  JsonScanner scanner;
  for (size_t i = 0; i < text.size(); ++i) {
    const JsonScanner::Status status = scanner.Feed(text[i]);
    if (status == JsonScanner::Status::kDone) return i + 1 == text.size();
    if (status == JsonScanner::Status::kOutside) return false;
  }
  return false;
}

TEST_P(ReplyGrammarTest, WhatCannotBeEnforcedIsRefusedOrLoose) {
  options_.tools = {{"f", {{"a", false}, {"s", true}}}};
  tools_ = {{.name = "f", .parameters = &LooseParameters(), .strict = true, .path = "tools[0]"}};
  const ReplyGrammarRequest strict{.reply = options_,
                                   .calls = CallUse::kMust,
                                   .tools = tools_,
                                   .output = output_,
                                   .tools_path = "tools"};
  const ApiResult<CompiledOutput> refused = CompileReply(strict, *tokenizer_, {});
  EXPECT_EQ(refused.has_value(), WritesJson(GetParam()));
  if (!refused) {
    EXPECT_EQ(refused.error().param, "tools[0]/minProperties");
  }

  tools_[0].strict = false;
  const ReplyGrammarRequest loose{.reply = options_,
                                  .calls = CallUse::kMust,
                                  .tools = tools_,
                                  .output = output_,
                                  .tools_path = "tools"};
  const ApiResult<CompiledOutput> compiled = CompileReply(loose, *tokenizer_, {});
  ASSERT_TRUE(compiled);
  EXPECT_EQ(compiled->loose_tool_count, WritesJson(GetParam()) ? 0 : 1);
  const std::unique_ptr<Recognizer> recognizer = compiled->make();
  const std::string example = CallExample(GetParam());
  EXPECT_TRUE(AcceptsText(*recognizer, example));
  CheckForcedCalls(example, ParseOnce(example));
  // Among values of any kind the search for a way out may give up.
  for (int i = 0; i < kTexts / 4; ++i) {
    const std::string text = RandomText(*recognizer, "", 100, kAlphabet, random_);
    if (text.ends_with('\xFE')) continue;
    const Reply reply = ParseOnce(text);
    CheckForcedCalls(text, reply);
    for (const Call& call : reply.calls) {
      EXPECT_EQ(call.name, "f");
      EXPECT_TRUE(IsJson(call.arguments)) << text << "\n" << call.arguments;
    }
  }
}

struct Trap {
  CallFormat format;
  std::string text;
  bool accepted;
  bool strict = true;
};

// What the random walks would hardly come to: each is refused for one thing, beside one that is
// not.
const Trap kTraps[] = {
    {CallFormat::kHermes, "so <tool_call>", false},
    {CallFormat::kHermes, "so <tool_cal>", true},
    {CallFormat::kHermes, R"(<tool_call>{"name": "g", "arguments": {}}</tool_call>)", false},
    {CallFormat::kHermes, R"(<tool_call>{"name": "f", "arguments": {"a": 0}}</tool_call>)", false},
    {CallFormat::kHermes, R"(<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call> so)",
     true},
    {CallFormat::kHermes, "<think>a <tool_call> b", false},
    {CallFormat::kHermes, "<think>a <tool_call> b</think>", true},
    {CallFormat::kQwenXml,
     "<function=get_weather><parameter=city></parameter></parameter><parameter=wind>true"
     "</parameter></function>",
     false},
    {CallFormat::kQwenXml,
     "<function=get_weather><parameter=city></parameter><parameter=wind>true</parameter>"
     "</function>",
     true},
    {CallFormat::kQwenXml,
     "<function=get_weather><parameter=city>a</parameter><parameter=city>a</parameter>"
     "<parameter=wind>true</parameter></function>",
     false},
    {CallFormat::kQwenXml, "<function=get_weather><parameter=city>a</parameter></function>", false},
    {CallFormat::kQwenXml,
     "<function=get_weather><parameter=city>\na more than 12\n</parameter><parameter=wind>true"
     "</parameter></function>",
     false},
    {CallFormat::kQwenXml,
     "<function=get_weather><parameter=city>\n123456789012\n</parameter><parameter=wind>true"
     "</parameter></function>",
     true},
    {CallFormat::kLfm2,
     R"(<|tool_call_start|>[get_weather(city="\/", wind=True)]<|tool_call_end|>)", false},
    {CallFormat::kLfm2,
     R"(<|tool_call_start|>[get_weather(city="\ud83d\ude00", wind=True)]<|tool_call_end|>)", false},
    {CallFormat::kLfm2,
     R"(<|tool_call_start|>[get_weather(city="\u00e9", wind=True)]<|tool_call_end|>)", true},
    {CallFormat::kGemma, "<|tool_call>call:get_weather{city:<|\"|>a<|\"|>,wind:true}<tool_call|>",
     true},
    {CallFormat::kGemma, "<|tool_call>call:get_weather{city:\"a\",wind:true}<tool_call|>", false},
    {CallFormat::kPlainJson, R"({"name": "f", "arguments": {"a": 0}})", false},
    {CallFormat::kPlainJson, R"({"x": {"name": "f", "arguments": {"a": 0}}})", true},
    {CallFormat::kPlainJson, R"(```json [{"arguments": {"a": 0}, "name": "f"}])", false},
    {CallFormat::kPlainJson, R"({"n\u0061me": "f", "arguments": {"a": 0}})", false},
    // Where no tool is strict, only an object that begins with a tool's name is its call.
    {CallFormat::kPlainJson, R"({"name": "f", "arguments": {"a": 0}})", false, false},
    {CallFormat::kPlainJson, R"({"name": "f", "arguments": {"a": 1}})", true, false},
    {CallFormat::kPlainJson, R"({"name": "f"} is one)", false, false},
    {CallFormat::kPlainJson, R"({"name": "nobody"} is none)", true, false},
    {CallFormat::kPlainJson, R"({"id": 1} is none)", true, false},
    {CallFormat::kPlainJson, R"({"id": 1} is none)", false},
    {CallFormat::kLlama, "[f(a=0)]", false, false},
    {CallFormat::kLlama, "[f(a=0)]", false},
    {CallFormat::kLlama, "[f(a=1)]", true},
    {CallFormat::kLlama, "[1] f", true},
    {CallFormat::kGlm4, "f\n{}", false},
    {CallFormat::kGlm4, "f is {}", true},
    {CallFormat::kHarmony, "<|channel|>final<|message|>a<|end|>b", false},
    {CallFormat::kHarmony, "<|channel|>final<|message|>a", true},
};

TEST(ReplyGrammarTrapTest, TheParserIsNotMisled) {
  const OutputFormat output;
  for (const Trap& trap : kTraps) {
    ReplyOptions options = OptionsOf(trap.format);
    options.format.reasons = true;
    if (HasMessages(trap.format)) options.format.reasoning_open.clear();
    if (HasMessages(trap.format)) options.format.reasoning_close.clear();
    std::vector<CallableTool> tools;
    for (const ordered_json& tool : Tools()) {
      tools.push_back({.name = tool["name"],
                       .parameters = &tool["parameters"],
                       .strict = trap.strict,
                       .path = "tools"});
    }
    const ReplyGrammarRequest request{.reply = options,
                                      .calls = CallUse::kMay,
                                      .tools = tools,
                                      .output = output,
                                      .tools_path = "tools"};
    const ApiResult<CompiledOutput> compiled = CompileReply(request, TagTokenizer({}), {});
    ASSERT_TRUE(compiled) << compiled.error().message;
    EXPECT_EQ(AcceptsText(*compiled->make(), trap.text), trap.accepted) << trap.text;
  }
}

}  // namespace
}  // namespace weft
