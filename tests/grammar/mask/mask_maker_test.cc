// Masks with a short cut through strings are those without.
#include "grammar/mask/mask_maker.h"

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "grammar/avoiding_recognizer.h"
#include "grammar/cfg/earley_recognizer.h"
#include "grammar/cfg/grammar_builder.h"
#include "grammar/schema/json_schema.h"

namespace weft {
namespace {

// The same language, without its short cuts.
class PlainRecognizer : public Recognizer {
 public:
  explicit PlainRecognizer(Recognizer* inner) : inner_(*inner) {}
  State Start() override { return inner_.Start(); }
  State Step(State state, uint8_t byte) override { return inner_.Step(state, byte); }
  bool Accepts(State state) override { return inner_.Accepts(state); }

 private:
  Recognizer& inner_;
};

// What JSON is made of, in pieces that go over the ends of its parts.
std::vector<std::string> Vocabulary() {
  std::vector<std::string> texts = {"\": ",
                                    "\":",
                                    "\",\"",
                                    "\", \"",
                                    "\"}",
                                    "\"]",
                                    "{\"",
                                    "\": \"",
                                    "\",\"b",
                                    "a\":",
                                    "\"a\"",
                                    "b\": {\"",
                                    "\"\"",
                                    "\",",
                                    "abc",
                                    "ab",
                                    "\\u00",
                                    "61",
                                    "\\\"",
                                    "true",
                                    "null",
                                    "12",
                                    "1.5",
                                    "e5",
                                    "}]",
                                    "\":[\"",
                                    "ä",
                                    "\xC3",
                                    "\xA4",
                                    "x\"y",
                                    "}, ",
                                    ": ",
                                    "\":1,\"",
                                    "\":2}",
                                    "abcabcabc",
                                    "0a1b",
                                    "ab\xC3",
                                    "ä\xE2\x82",
                                    "\xAC",
                                    "a\\n",
                                    "a b",
                                    "abx\", \"ab",
                                    "{\"ab\":\"x",
                                    "{\"a\":1",
                                    "a\":1,\"b\":",
                                    "b\":1,\"a\":",
                                    "b\":1, \"b",
                                    "a\":1},{\"a\":1}",
                                    "b\":1},{\"a\":1}",
                                    std::string(40, 'a'),
                                    std::string(40, 'b') + "\""};
  for (int byte = 0; byte < 128; ++byte) texts.push_back(std::string(1, static_cast<char>(byte)));
  return texts;
}

constexpr std::string_view kSchemas[] = {
    R"({})",
    R"({"type": "object", "properties": {"a": {"type": "string"}, "ab": {"type": "integer"}}})",
    R"({"type": "object", "properties": {"a": {"maxLength": 3}, "b": {"enum": ["x", "abc"]}},
        "additionalProperties": {"type": "boolean"}, "patternProperties": {"^c": {"const": 12}}})",
    R"({"type": "array", "items": {"type": "string", "pattern": "^[abx]*$"}, "uniqueItems": true})",
    R"({"type": "array", "items": {"type": "string", "maxLength": 12, "minLength": 2}})",
    R"({"type": "array", "items": {"type": "string", "pattern": "^[0-9A-Za-z]{8}(-[a-f]+)?$"}})",
    R"({"type": "array", "items": {"type": "string", "not": {"pattern": "ab|ä"}}})",
    R"({"type": "array", "items": {"oneOf": [{"maxLength": 4}, {"pattern": "a"}], "type": "string"},
        "minItems": 2, "contains": {"pattern": "b"}, "maxContains": 2})",
    R"({"type": "object", "patternProperties": {"^[ab]?$": {}}, "additionalProperties": false})",
    R"({"type": "array", "items": {"type": "object"}, "uniqueItems": true})",
    R"({"oneOf": [{"properties": {"a": {"const": "ab"}, "b": {"type": "string"}},
                   "required": ["a"]},
                  {"properties": {"a": {"const": "abc"}, "b": {"type": "number"}},
                   "required": ["a"]}], "additionalProperties": true})",
};

class MaskMakerTest : public testing::TestWithParam<std::string_view> {
 protected:
  // Of the recognizer, along random texts of it.
  void ExpectTheSameMasks(Recognizer& recognizer) {
    const std::vector<std::string> texts = Vocabulary();
    const MaskVocabulary vocabulary(texts);
    PlainRecognizer plain(&recognizer);
    MaskMaker with(&vocabulary, &recognizer);
    MaskMaker without(&vocabulary, &plain);
    std::mt19937 random(1);
    for (int walk = 0; walk < 40; ++walk) {
      Recognizer::State state = recognizer.Start();
      std::string text;
      for (int step = 0; step < 40; ++step) {
        std::vector<uint32_t> mask((texts.size() + 31) / 32);
        std::vector<uint32_t> expected(mask.size());
        with.Fill(state, mask);
        without.Fill(state, expected);
        ASSERT_EQ(mask, expected) << "behind " << text;
        std::vector<size_t> allowed;
        for (size_t token = 0; token < texts.size(); ++token) {
          if ((mask[token / 32] >> (token % 32) & 1U) != 0) allowed.push_back(token);
        }
        if (allowed.empty()) break;
        const std::string& next =
            texts[allowed[std::uniform_int_distribution<size_t>(0, allowed.size() - 1)(random)]];
        for (const char byte : next) state = recognizer.Step(state, static_cast<uint8_t>(byte));
        text += next;
      }
    }
  }
};

TEST_P(MaskMakerTest, OfSchemas) {
  const auto schema = JsonSchema::Compile(nlohmann::ordered_json::parse(GetParam()));
  ASSERT_TRUE(schema) << schema.error().message;
  for (const bool any_order : {false, true}) {
    ExpectTheSameMasks(*schema->NewMachine({.any_order = any_order}));
  }
}

TEST_P(MaskMakerTest, OfSchemasWithinGrammars) {
  const auto schema = JsonSchema::Compile(nlohmann::ordered_json::parse(GetParam()));
  ASSERT_TRUE(schema) << schema.error().message;
  GrammarBuilder builder;
  const GrammarExpr value = builder.Terminal([&] { return schema->NewMachine({}); });
  Result<Grammar> grammar = builder.Build(
      builder.Sequence({builder.Literal("<"), builder.Repeat(value, 1, 3), builder.Literal(">")}));
  ASSERT_TRUE(grammar) << grammar.error().message;
  EarleyRecognizer recognizer(std::make_shared<const Grammar>(*std::move(grammar)));
  ExpectTheSameMasks(recognizer);
}

// Words inside strings, over their ends, and over the ends of tokens.
TEST_P(MaskMakerTest, OfSchemasWithoutCertainWords) {
  const auto schema = JsonSchema::Compile(nlohmann::ordered_json::parse(GetParam()));
  ASSERT_TRUE(schema) << schema.error().message;
  constexpr std::string_view kWords[] = {"ab", "x\"", "\": {", "0a1", "ä", "cabcab"};
  GrammarBuilder builder;
  const GrammarExpr value = builder.Terminal(
      [&] { return std::make_unique<AvoidingRecognizer>(schema->NewMachine({}), kWords); });
  Result<Grammar> grammar = builder.Build(builder.Repeat(value, 1, 3));
  ASSERT_TRUE(grammar) << grammar.error().message;
  EarleyRecognizer recognizer(std::make_shared<const Grammar>(*std::move(grammar)));
  ExpectTheSameMasks(recognizer);
}

INSTANTIATE_TEST_SUITE_P(Schemas, MaskMakerTest, testing::ValuesIn(kSchemas));

}  // namespace
}  // namespace weft
