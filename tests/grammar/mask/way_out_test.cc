// Short ways to an end: as short as they can be, and spelled in few tokens.
#include "grammar/mask/way_out.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "grammar/avoiding_recognizer.h"
#include "grammar/cfg/earley_recognizer.h"
#include "grammar/cfg/gbnf.h"
#include "grammar/cfg/grammar_builder.h"
#include "grammar/regex/pattern.h"
#include "grammar/regex/symbol_set.h"
#include "grammar/regex/text_recognizer.h"
#include "grammar/schema/json_schema.h"

namespace weft {
namespace {

constexpr WayOutLimits kLimits = {.states = 20'000, .width = 256};
constexpr auto kAnyWay = [](const WayOut&) { return true; };

Recognizer::State Behind(Recognizer& recognizer, std::string_view text) {
  Recognizer::State state = recognizer.Start();
  for (const char byte : text) {
    if (state == Recognizer::kDead) break;
    state = recognizer.Step(state, static_cast<uint8_t>(byte));
  }
  return state;
}

// The way that is found behind `begun`, which is a way of the recognizer's.
std::string WayBehind(Recognizer& recognizer, std::string_view begun) {
  const Recognizer::State from = Behind(recognizer, begun);
  if (from == Recognizer::kDead) return "dead";
  const std::optional<WayOut> way = FindWayOut(recognizer, from, {}, kLimits, kAnyWay);
  if (!way) return "none";
  Recognizer::State state = from;
  for (size_t i = 0; i < way->bytes.size(); ++i) {
    EXPECT_EQ(way->states[i], state);
    state = recognizer.Step(state, static_cast<uint8_t>(way->bytes[i]));
  }
  EXPECT_EQ(way->states.back(), state);
  EXPECT_EQ(way->states.size(), way->bytes.size() + 1);
  EXPECT_TRUE(recognizer.Accepts(state));
  return way->bytes;
}

std::unique_ptr<Recognizer> OfSchema(std::string_view schema, JsonMachineOptions options = {}) {
  return JsonSchema::Compile(nlohmann::ordered_json::parse(schema))->NewMachine(options);
}

std::unique_ptr<Recognizer> OfRegex(std::string_view pattern) {
  RegexArena arena;
  const RegexId id = ParsePattern(&arena, pattern, PatternDialect::kRe2).value();
  return std::make_unique<TextRecognizer>(std::move(arena), id);
}

std::unique_ptr<Recognizer> OfGbnf(std::string_view text) {
  GrammarBuilder builder;
  const GrammarExpr start = ReadGbnf(&builder, text, {}).value();
  return std::make_unique<EarleyRecognizer>(
      std::make_shared<const Grammar>(builder.Build(start).value()));
}

struct Case {
  std::string_view language;
  std::string_view begun;
  std::string_view way;
};

TEST(WayOutTest, OfSchemas) {
  constexpr Case kCases[] = {
      {"{}", "", "0"},
      {"{}", "[[{\"a\": [tr", "ue]}]]"},
      {"{}", "\"abc", "\""},
      {"{}", "\"abc\\u00", "00\""},
      {"{}", "-", "0"},
      {"{}", "12", ""},
      {"{}", "[12.", "0]"},
      {R"({"type":"object"})", "{\"abc", "\":0}"},
      {R"({"type":"string","minLength":3})", "\"a", "aa\""},
      {R"({"type":"string","pattern":"^[0-9]{2}-é$"})", "", "\"00-é\""},
      {R"({"enum":["long text","short","a\n"]})", "\"", "a\\n\""},
      {R"({"const":"\u0007\""})", "", "\"\\u0007\\\"\""},
      {R"({"type":"integer","minimum":17,"multipleOf":5})", "", "20"},
      {R"({"properties":{"a":{"type":"string"},"b":{"type":"null"}},"required":["b"],
           "type":"object","additionalProperties":false})",
       "", "{\"b\":null}"},
      {R"({"properties":{"q\"":{"const":1}},"required":["q\""],"type":"object"})", "",
       "{\"q\\\"\":1}"},
      {R"({"type":"array","contains":{"pattern":"b$"},"items":{"type":"string"}})", "", "[\"b\"]"},
      {R"({"type":"array","minItems":3,"uniqueItems":true,"items":{"type":"integer"}})", "",
       "[0,1,2]"},
      {R"({"type":"object","if":{"required":["a"]},"then":{"required":["b","c"]}})", "{\"a\"",
       ":0,\"b\":0,\"c\":0}"},
      {R"({"type":"object","minProperties":2})", "", "{\"\":0,\"a\":0}"},
      {R"({"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":
           {"left":{"anyOf":[{"$ref":"#/$defs/t"},{"type":"null"}]}},"required":["left"]}}})",
       "{\"left\":{\"", "left\":null}}"},
  };
  for (const Case& each : kCases) {
    EXPECT_EQ(WayBehind(*OfSchema(each.language), each.begun), each.way) << each.language;
  }
}

TEST(WayOutTest, OfManyNamesInAnyOrder) {
  nlohmann::ordered_json schema = {{"type", "object"}};
  std::string all = "{";
  for (int i = 0; i < 40; ++i) {
    const std::string name = "property_" + std::to_string(100 + i);
    schema["properties"][name] = {{"type", "string"}};
    schema["required"].push_back(name);
    all += (i > 0 ? ",\"" : "\"") + name + "\":\"\"";
  }
  for (const bool any_order : {false, true}) {
    const auto machine = OfSchema(schema.dump(), {.any_order = any_order});
    EXPECT_EQ(WayBehind(*machine, ""), all + "}") << any_order;
  }
}

TEST(WayOutTest, HasNoSpaceThatNeedNotBe) {
  const auto machine = OfSchema(R"({"type":"array","minItems":2})", {.space = JsonSpace::kAny});
  EXPECT_EQ(WayBehind(*machine, " [ "), "0,0]");
}

TEST(WayOutTest, OfRegexes) {
  constexpr Case kCases[] = {
      {"abc|xy", "", "xy"},
      {"[a-z]*é{2}", "abc", "éé"},
      {"(\\d{4}-)?\\d{2}", "123", "0-00"},
      {"\\p{Han}{2}", "", "⺀⺀"},
      {".{3}(x|[yz]w)", "..", "ax"},
      {"a*", "aaa", ""},
  };
  for (const Case& each : kCases) {
    EXPECT_EQ(WayBehind(*OfRegex(each.language), each.begun), each.way) << each.language;
  }
}

TEST(WayOutTest, OfGrammars) {
  constexpr Case kCases[] = {
      {"root ::= \"(\" root \")\" | \"[\" root root \"]\" | \"o\"", "([", "oo])"},
      {"root ::= item (\", \" item)*\nitem ::= [a-z]{2,4} | \"<\" item \">\"", "<ab", ">"},
  };
  for (const Case& each : kCases) {
    EXPECT_EQ(WayBehind(*OfGbnf(each.language), each.begun), each.way) << each.language;
  }
}

TEST(WayOutTest, GoesAroundWordsThatAreAvoided) {
  const std::vector<std::string_view> words = {"<end>"};
  AvoidingRecognizer recognizer(OfSchema(R"({"const":"<end>"})"), words);
  EXPECT_EQ(WayBehind(recognizer, ""), "\"<end\\u003E\"");
}

TEST(WayOutTest, SpecialTokensAreBytesLikeOthers) {
  RegexArena arena;
  const RegexId special =
      arena.Set(SymbolSet({{kFirstSpecialSymbol + 300, kFirstSpecialSymbol + 300}}));
  const RegexId text = arena.Concat(arena.AnyText(), special);
  TextRecognizer recognizer(std::move(arena), text);
  EXPECT_EQ(WayBehind(recognizer, "abc"), SpecialTokenBytes(300));
}

TEST(WayOutTest, AWayThatIsKnownIsFollowed) {
  const auto machine = OfSchema(R"({"type":"array","minItems":2})");
  const WayOut known = *FindWayOut(*machine, machine->Start(), {}, kLimits, kAnyWay);
  EXPECT_EQ(known.bytes, "[0,0]");
  // Far enough to come back to it, not to the end.
  const WayOutLimits few = {.states = 2, .width = 256};
  const Recognizer::State from = Behind(*machine, "[1");
  EXPECT_EQ(FindWayOut(*machine, from, {}, few, kAnyWay), std::nullopt);
  const std::optional<WayOut> way = FindWayOut(*machine, from, known, few, kAnyWay);
  ASSERT_TRUE(way);
  EXPECT_EQ(way->bytes, ",0]");
}

TEST(WayOutTest, WaysThatAreNotGoodGetShorter) {
  const auto machine = OfRegex("a(bbbb|cc|d)?");
  WayOut known = {.bytes = "", .states = {machine->Start()}};
  for (const char byte : std::string_view("abbbb")) {
    known.bytes.push_back(byte);
    known.states.push_back(machine->Step(known.states.back(), static_cast<uint8_t>(byte)));
  }
  std::vector<std::string> seen;
  EXPECT_EQ(FindWayOut(*machine, machine->Start(), known, kLimits,
                       [&](const WayOut& way) {
                         seen.push_back(way.bytes);
                         return false;
                       }),
            std::nullopt);
  EXPECT_EQ(seen, (std::vector<std::string>{"abbbb", "a"}));
}

TEST(WayOutTest, SpelledInAsFewTokensAsCanBe) {
  const std::vector<std::string> texts = {"a", "b", "ab", "abc", "c", "bcd", "d", "", "ab"};
  const TokenTrie trie(texts);
  using Tokens = std::vector<int32_t>;
  EXPECT_EQ(SpellInTokens(trie, "abcd", {}), (Tokens{3, 6}));
  EXPECT_EQ(SpellInTokens(trie, "abab", {}), (Tokens{2, 2}));
  EXPECT_EQ(SpellInTokens(trie, "", {}), Tokens());
  const Tokens unusable = {2, 3};
  EXPECT_EQ(SpellInTokens(trie, "abcd", unusable), (Tokens{0, 5}));
  EXPECT_EQ(SpellInTokens(trie, "ab", unusable), (Tokens{8}));  // another token of the same text
  EXPECT_EQ(SpellInTokens(trie, "axb", {}), std::nullopt);
}

}  // namespace
}  // namespace weft
