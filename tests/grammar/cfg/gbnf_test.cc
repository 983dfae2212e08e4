#include "grammar/cfg/gbnf.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/grammar/cfg/grammar_fixtures.h"

namespace weft {
namespace {

using enum TextIs;

// <think> is special token 0, <|end|> special token 5, by their numbers 1000 and 1005.
SpecialTokenLookup Tokens() {
  return {.by_name = [](std::string_view name) -> std::optional<int32_t> {
            if (name == "<think>") return 0;
            if (name == "<|end|>") return 5;
            return std::nullopt;
          },
          .by_id = [](int64_t id) -> std::optional<int32_t> {
            if (id == 1000) return 0;
            if (id == 1005) return 5;
            return std::nullopt;
          }};
}

constexpr std::string_view kThink("\xFF\0\0\0", 4);
constexpr std::string_view kEnd("\xFF\0\0\x05", 4);

Result<Grammar> Compile(std::string_view text, const GrammarTextLimits& limits = {}) {
  GrammarBuilder builder;
  WEFT_ASSIGN_OR_RETURN(const GrammarExpr root, ReadGbnf(&builder, text, Tokens(), limits));
  return builder.Build(root);
}

void ExpectTexts(std::string_view grammar, const std::vector<ExpectedText>& texts) {
  SCOPED_TRACE(grammar);
  ExpectTextsOf(Compile(grammar), texts);
}

TEST(Gbnf, LiteralsHaveEscapes) {
  ExpectTexts(R"(root ::= "a\n\t\r\\\"\x41\u00e9\U0001F600[")",
              {{"a\n\t\r\\\"A\u00e9\U0001F600[", kWhole},
               {"a\n\t\r\\\"A", kBegun},
               {"a\\n", kWrong},
               {"a\n\t\r\\\"A\u00e9\U0001F600[]", kWrong}});
  ExpectTexts("root ::= \"\u00e9\"", {{"\u00e9", kWhole}, {"\xC3", kBegun}, {"\xC3\xA8", kWrong}});
  ExpectTexts(R"(root ::= "")", {{"", kWhole}, {"a", kWrong}});
}

TEST(Gbnf, ClassesAreSetsOfCharacters) {
  ExpectTexts("root ::= [a-c\\-x_]", {{"b", kWhole}, {"-", kWhole}, {"_", kWhole}, {"d", kWrong}});
  ExpectTexts("root ::= [a-]", {{"a", kWhole}, {"-", kWhole}, {"b", kWrong}});
  ExpectTexts("root ::= [^a-c\\n]",
              {{"d", kWhole}, {"\u3042", kWhole}, {"b", kWrong}, {"\n", kWrong}});
  ExpectTexts("root ::= [\u3041-\u309f]", {{"\u3042", kWhole}, {"\u30a2", kWrong}});
  ExpectTexts("root ::= [\\]\\[]", {{"]", kWhole}, {"[", kWhole}, {"\\", kWrong}});
  ExpectTexts("root ::= .", {{"\n", kWhole}, {"\U0001F600", kWhole}, {"ab", kWrong}});
}

TEST(Gbnf, RepeatsWhatStandsBefore) {
  ExpectTexts("root ::= \"ab\"*", {{"", kWhole}, {"abab", kWhole}, {"aba", kBegun}, {"b", kWrong}});
  ExpectTexts("root ::= \"a\"+ \"b\"?", {{"", kBegun}, {"aab", kWhole}, {"abb", kWrong}});
  ExpectTexts("root ::= [ab]{2}", {{"a", kBegun}, {"ab", kWhole}, {"aba", kWrong}});
  ExpectTexts("root ::= [ab]{2,}", {{"a", kBegun}, {"ab", kWhole}, {"abababab", kWhole}});
  ExpectTexts("root ::= [ab] { 1 , 2 } \"c\"", {{"c", kWrong}, {"abc", kWhole}, {"aab", kWrong}});
  ExpectTexts("root ::= \"a\"{,2}", {{"", kWhole}, {"aa", kWhole}, {"aaa", kWrong}});
  ExpectTexts("root ::= \"a\"{0,0} \"b\"", {{"b", kWhole}, {"a", kWrong}});
  ExpectTexts("root ::= (\"a\" | \"b\" | ) \"c\"", {{"c", kWhole}, {"ac", kWhole}, {"ab", kWrong}});
  ExpectTexts("root ::= \"a\"{1000000}", {{std::string(1000, 'a'), kBegun}});
}

TEST(Gbnf, RulesEndWithTheirLinesButInGroupsAndBehindBars) {
  ExpectTexts(
      "# a comment\n\nroot ::= a | # one\n  b\r\na ::= (\n\"a\" # in it\n  \"c\"\n)\nb ::= \"b\"",
      {{"ac", kWhole}, {"b", kWhole}, {"a", kBegun}, {"c", kWrong}});
  ExpectTexts("root ::=\n  \"a\"\n", {{"a", kWhole}});
}

TEST(Gbnf, RulesMayBeRecursiveAnywhere) {
  ExpectTexts("root ::= \"(\" root \")\" | \"\"",
              {{"(())", kWhole}, {"(()", kBegun}, {"())", kWrong}});
  ExpectTexts("root ::= root \"+\" root | [0-9]",
              {{"1+2+3", kWhole}, {"1+", kBegun}, {"1+++", kWrong}});
  ExpectTexts("root ::= ws \"x\"\nws ::= ([ \\t] ws)?", {{"  \tx", kWhole}, {" ", kBegun}});
}

TEST(Gbnf, TokensAreThoseOfTheVocabulary) {
  const std::string think(kThink);
  const std::string end(kEnd);
  ExpectTexts("root ::= <think> \"a\" <[1005]>",
              {{think + "a" + end, kWhole}, {think, kBegun}, {end, kWrong}, {"<think>", kWrong}});
  ExpectTexts("root ::= <think> !<|end|>* <|end|>",
              {{think + "ab" + end, kWhole}, {think + end, kWhole}, {think + think, kWrong}});
  ExpectTexts("root ::= !<|end|>+ <|end|>", {{end, kWrong}, {"a" + end, kWhole}});
}

TEST(Gbnf, SaysWhereAndWhatIsWrong) {
  struct Case {
    std::string grammar;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"", "gbnf:1:1: found no rule root"},
      {"a ::= \"b\"", "gbnf:1:10: found no rule root"},
      {"root ::= \"a\"\nb ::= c root", "gbnf:2:7: rule c is not defined"},
      {"root ::= \"a\"\n root ::= \"b\"", "gbnf:2:2: rule root is defined a second time"},
      {"root = \"a\"", "gbnf:1:6: found '=', expected ::= behind root"},
      {"root ::= \"a", "gbnf:1:12: found the end, expected a character"},
      {"root ::= \"\\q\"", "gbnf:1:11: unknown escape '\\x5cq'"},
      {"root ::= \"\\x4\"", "gbnf:1:14: found '\"', expected 2 hexadecimal digits"},
      {"root ::= \"\\ud800\"", "gbnf:1:13: U+D800 is no character"},
      {"root ::= \"\\U00110000\"", "gbnf:1:13: U+110000 is no character"},
      {"root ::= \"\xFF\"", "gbnf:1:11: the text is not valid UTF-8"},
      {"root ::= []", "gbnf:1:10: a class without characters"},
      {"root ::= [b-a]", "gbnf:1:11: range 'b-a' ends before it begins"},
      {"root ::= (\"a\"", "gbnf:1:14: found the end, expected )"},
      {"root ::= \"a\")", "gbnf:1:13: found ')', expected an end of line"},
      {"root ::= *", "gbnf:1:10: found *, expected something to repeat before it"},
      {"root ::= \"a\"{2,1}", "gbnf:1:13: at least 2, but at most 1"},
      {"root ::= \"a\"{99999999999999999999}",
       "gbnf:1:14: 99999999999999999999 is more than 1000000"},
      {"root ::= \"a\"{x}", "gbnf:1:14: found 'x', expected a number"},
      {"root ::= \"a\" |\nx ::= \"b\"", "gbnf:2:3: found ':', expected an end of line"},
      {"root ::= \"a\"{1;}", "gbnf:1:15: found ';', expected }"},
      {"root ::= <nothing>", "gbnf:1:10: '<nothing>' is no special token of the model's"},
      {"root ::= <[7]>", "gbnf:1:10: '<[7]>' is no special token of the model's"},
      {"root ::= !<think> \"a\"",
       "gbnf:1:10: a negated token is no text, expected it before * or +"},
      {"root ::= a\na ::= a \"b\"", "grammar: it derives no text"},
      {"root ::= a\na ::= a", "grammar: it derives no text"},
  };
  for (const Case& one : cases) {
    const Result<Grammar> grammar = Compile(one.grammar);
    ASSERT_FALSE(grammar.has_value()) << one.grammar;
    EXPECT_EQ(grammar.error().message, one.message);
  }
}

TEST(Gbnf, QuantifiersMayFollowOneAnother) {
  ExpectTexts("root ::= \"a\"{2}{3}?", {{"", kWhole}, {"aa", kBegun}, {"aaaaaa", kWhole}});
  ExpectTexts("root ::= \"a\"+? \"b\"", {{"b", kWhole}, {"aab", kWhole}});
  ExpectTexts("root ::= \"a\"?{2,3}", {{"", kWhole}, {"aaa", kWhole}, {"aaaa", kWrong}});
  ExpectTexts("root ::= \"a\"+{2,3}", {{"a", kBegun}, {"aaaaa", kWhole}});
  ExpectTexts("root ::= \"a\"*{0,0} \"b\"", {{"a", kWrong}, {"b", kWhole}});
  ExpectTexts("root ::= \"a\"" + std::string(100'000, '+'), {{"", kBegun}, {"aa", kWhole}});
  ExpectTexts("root ::= x" + std::string(100'000, '+') + "\nx ::= \"(\" x \")\" | \"a\"",
              {{"", kBegun}, {"a(a)", kWhole}});
}

TEST(Gbnf, GroupsAreNoDeeperThanTheLimit) {
  const auto nested = [](size_t depth) {
    return "root ::= " + std::string(depth, '(') + "\"a\"" + std::string(depth, ')');
  };
  EXPECT_EQ(Read(*Compile(nested(200)), "a"), kWhole);
  EXPECT_EQ(Compile(nested(201)).error().message,
            "gbnf:1:210: more than 200 groups in one another");
  EXPECT_EQ(Compile(nested(1'000'000)).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(Compile("root ::= \"a\"", {.max_bytes = 11}).error().message,
            "gbnf: 12 bytes, expected at most 11");
}

}  // namespace
}  // namespace weft
