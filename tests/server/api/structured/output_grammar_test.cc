#include "server/api/structured/output_grammar.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "grammar/mask/token_trie.h"
#include "tests/server/api/structured/list_tokenizer.h"
#include "tests/server/api/structured/random_text.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

struct OutputCase {
  std::string name;
  OutputFormat format;
  std::vector<std::string> accepted;
  std::vector<std::string> refused;
};

OutputFormat TextFormat(OutputKind kind, std::string text) {
  OutputFormat format;
  format.kind = kind;
  format.path = "field";
  format.text = std::move(text);
  return format;
}

OutputFormat SchemaFormat(OutputKind kind, const std::string& json) {
  OutputFormat format;
  format.kind = kind;
  format.path = "field";
  if (!json.empty()) format.schema = ordered_json::parse(json);
  return format;
}

OutputFormat ChoiceFormat(std::vector<std::string> choices) {
  OutputFormat format;
  format.kind = OutputKind::kChoice;
  format.path = "field";
  format.choices = std::move(choices);
  return format;
}

const std::string kCall = SpecialTokenBytes(256);

std::vector<OutputCase> OutputCases() {
  OutputFormat tight = SchemaFormat(OutputKind::kJsonSchema, R"({"type": "array"})");
  tight.space = OutputSpace::kNone;
  OutputFormat wide = tight;
  wide.space = OutputSpace::kAny;
  OutputFormat ordered = SchemaFormat(
      OutputKind::kJsonSchema,
      R"({"properties": {"a": {}, "b": {}}, "required": ["a", "b"], "type": "object"})");
  OutputFormat any_order = ordered;
  any_order.any_order = true;
  return {
      {"object",
       SchemaFormat(OutputKind::kJsonObject, ""),
       {"{}", R"({"a": [1]})"},
       {"[]", "", "1"}},
      {"space",
       SchemaFormat(OutputKind::kJsonSchema, R"({"type": "array"})"),
       {"[1, 2]", "[1,2]"},
       {"[1,  2]", "[ 1]"}},
      {"tight", tight, {"[1,2]"}, {"[1, 2]"}},
      {"wide", wide, {"[ 1,\n2 ]"}, {"{}"}},
      {"ordered", ordered, {R"({"a": 1, "b": 2})"}, {R"({"b": 2, "a": 1})", R"({"a": 1})"}},
      {"any_order", any_order, {R"({"a": 1, "b": 2})", R"({"b": 2, "a": 1})"}, {R"({"a": 1})"}},
      {"regex", TextFormat(OutputKind::kRegex, "[ab]+c|d"), {"abc", "d"}, {"c", "abcd", ""}},
      {"choice", ChoiceFormat({"yes", "no", "nobody"}), {"yes", "no", "nobody"}, {"n", "yesno"}},
      {"gbnf",
       TextFormat(OutputKind::kGrammar, "root ::= \"a\" root \"b\" | \"c\""),
       {"c", "aacbb"},
       {"aacb"}},
      {"gbnf token",
       TextFormat(OutputKind::kGrammar, "root ::= <call> \"c\""),
       {kCall + "c"},
       {"<call>c"}},
      {"lark",
       TextFormat(OutputKind::kGrammar, "start: \"a\" start \"b\" | /c+/"),
       {"ccc", "aacbb"},
       {"aacb"}},
      {"lark json",
       TextFormat(OutputKind::kGrammar, "start: \"x\" %json {\"type\": \"integer\"}"),
       {"x12"},
       {"xa", "x", "x1.0"}},
      {"old tag",
       SchemaFormat(OutputKind::kStructuralTag,
                    R"({"structures": [{"begin": "<f>", "schema": {"type": "integer"},
                        "end": "</f>"}], "triggers": ["<f"]})"),
       {"", "hello", "a <f>1</f> b <f>2</f>"},
       {"a <f>x</f>", "<f", "<f>1"}},
      {"new tag",
       SchemaFormat(OutputKind::kStructuralTag,
                    R"({"type": "structural_tag", "format": {"type": "sequence", "elements": [
                        {"type": "tag", "begin": "<think>", "content": {"type": "any_text"},
                         "end": "</think>"},
                        {"type": "triggered_tags", "triggers": ["<call>"], "at_least_one": true,
                         "stop_after_first": true, "tags": [
                           {"begin": "<call>", "content": {"type": "json_schema",
                            "json_schema": {"type": "object"}}, "end": "."}]}]}})"),
       {"<think>a < b</think>so " + kCall + "{}."},
       {"<think>" + kCall + "{}.", "<think></think>", "<think></think><call>{}.",
        "<think></think>" + kCall + "{}.."}},
      {"separated tags",
       SchemaFormat(OutputKind::kStructuralTag,
                    R"x({"format": {"type": "tags_with_separator", "separator": ",", "tags": [
                        {"begin": "(", "content": {"type": "regex", "pattern": "a+"}, "end": ")"},
                        {"begin": "[", "content": {"type": "or", "elements": [
                          {"type": "const_string", "value": "b"},
                          {"type": "grammar", "grammar": "root ::= \"c\""}]}, "end": "]"}]}})x"),
       {"", "(aa),[b],[c]"},
       {"(aa)[b]", ",", "(aa),"}},
  };
}

TEST(OutputGrammarTest, AllowsWhatItSays) {
  const TagTokenizer tokenizer({"<call>"});
  const SpecialTokenLookup tokens = SpecialTokensOf(tokenizer);
  for (const OutputCase& each : OutputCases()) {
    SCOPED_TRACE(each.name);
    const ApiResult<RecognizerFactory> make = CompileOutput(each.format, tokens);
    ASSERT_TRUE(make) << make.error().param << ": " << make.error().message;
    const std::unique_ptr<Recognizer> recognizer = (*make)();
    for (const std::string& text : each.accepted)
      EXPECT_TRUE(AcceptsText(*recognizer, text)) << text;
    for (const std::string& text : each.refused)
      EXPECT_FALSE(AcceptsText(*recognizer, text)) << text;
  }
}

TEST(OutputGrammarTest, RefusesByNameAndPlace) {
  struct ErrorCase {
    OutputFormat format;
    std::string param;
    std::string code;
    std::string words;
  };
  const std::vector<ErrorCase> cases = {
      {SchemaFormat(OutputKind::kJsonSchema, R"({"properties": {"a": {"minLength": -1}}})"),
       "field/properties/a/minLength", "invalid_schema", "'minLength'"},
      {SchemaFormat(OutputKind::kJsonSchema, R"({"format": "no-such-format"})"), "field/format",
       "unsupported_schema", "'format'"},
      {TextFormat(OutputKind::kRegex, "(a"), "field", "invalid_regex", "'field'"},
      {TextFormat(OutputKind::kRegex, R"((a)\1)"), "field", "unsupported_regex", "'field'"},
      {TextFormat(OutputKind::kRegex, R"([^\x{0}-\x{10FFFF}])"), "field", "invalid_regex",
       "'field'"},
      {TextFormat(OutputKind::kGrammar, "root ::= other"), "field", "invalid_grammar", "gbnf"},
      {TextFormat(OutputKind::kGrammar, "root ::= \"a\" root"), "field", "invalid_grammar", ""},
      {TextFormat(OutputKind::kGrammar, "start: other"), "field", "invalid_grammar", "lark"},
      {TextFormat(OutputKind::kGrammar, R"(start: %json {"not": {}, "not": {}})"), "field",
       "invalid_grammar", "%json"},
      {SchemaFormat(OutputKind::kStructuralTag, R"({"format": {"type": "tag", "begin": "a",
         "content": {"type": "json_schema", "json_schema": {"type": "no"}}, "end": ""}})"),
       "field/format/content/json_schema/type", "invalid_schema", "'type'"},
      {SchemaFormat(OutputKind::kStructuralTag, R"({"format": {"type": "qwen_xml_parameter"}})"),
       "field/format/type", "invalid_structural_tag", "qwen_xml_parameter"},
      {SchemaFormat(OutputKind::kStructuralTag, R"({"format": {"type": "any_text", "x": 1}})"),
       "field/format/x", "invalid_structural_tag", ""},
      {SchemaFormat(OutputKind::kStructuralTag, R"({"structures": [], "triggers": ["a"]})"),
       "field/structures", "invalid_structural_tag", ""},
  };
  for (const ErrorCase& each : cases) {
    const ApiResult<RecognizerFactory> make = CompileOutput(each.format, {});
    ASSERT_FALSE(make) << each.param << " " << each.words << " " << each.format.text;
    EXPECT_EQ(make.error().status, 400);
    EXPECT_EQ(make.error().param, each.param) << make.error().message;
    EXPECT_EQ(make.error().code, each.code) << make.error().message;
    EXPECT_NE(make.error().message.find(each.words), std::string::npos) << make.error().message;
  }
}

}  // namespace
}  // namespace weft
