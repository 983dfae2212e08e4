#include "grammar/cfg/lark.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "grammar/regex/text_recognizer.h"
#include "tests/grammar/cfg/grammar_fixtures.h"

namespace weft {
namespace {

using enum TextIs;

// <|call|> is special token 0, its number 100; 101 and 102 are special tokens 1 and 2. A schema
// that names a value stands for that text.
LarkLookup Lookup() {
  return {.tokens = {.by_name = [](std::string_view name) -> std::optional<int32_t> {
                       return name == "<|call|>" ? std::optional<int32_t>(0) : std::nullopt;
                     },
                     .by_id = [](int64_t id) -> std::optional<int32_t> {
                       if (id < 100 || id > 102) return std::nullopt;
                       return static_cast<int32_t>(id - 100);
                     }},
          .json = [](std::string_view schema) -> Result<RecognizerFactory> {
            if (schema == R"({"not": {}})") return Fail(ErrorCode::kInvalidArgument, "no value");
            return [text = std::string(schema.substr(1, schema.size() - 2))] {
              RegexArena arena;
              const RegexId id = arena.Literal(text);
              return std::make_unique<TextRecognizer>(std::move(arena), id);
            };
          }};
}

constexpr std::string_view kCall("\xFF\0\0\0", 4);
constexpr std::string_view kToken102("\xFF\0\0\x02", 4);

Result<Grammar> Compile(std::string_view text, const LarkLookup& lookup = Lookup()) {
  GrammarBuilder builder;
  WEFT_ASSIGN_OR_RETURN(const GrammarExpr start, ReadLark(&builder, text, lookup));
  return builder.Build(start);
}

void ExpectTexts(std::string_view grammar, const std::vector<ExpectedText>& texts) {
  SCOPED_TRACE(grammar);
  ExpectTextsOf(Compile(grammar), texts);
}

TEST(Lark, RulesAndTerminals) {
  ExpectTexts(R"lark(
    // A sum.
    ?start: sum            # the whole
    sum: product
       | sum "+" product   -> add
    !product.2: atom ("*" atom)*
    atom: NUMBER | "(" sum ")"
    NUMBER.1: DIGIT+ [ "." DIGIT+ ]
    DIGIT: "0".."9"
  )lark",
              {{"1+2*(3.5+4)", kWhole},
               {"1+", kBegun},
               {"(1", kBegun},
               {"1.", kBegun},
               {"1..", kWrong},
               {"1 + 2", kWrong}});
  ExpectTexts("start: | \"a\" start", {{"", kWhole}, {"aaa", kWhole}, {"b", kWrong}});
  ExpectTexts("start: (\"a\"\n | \"b\"\n)+\n | \"c\"", {{"ab", kWhole}, {"c", kWhole}});
}

TEST(Lark, StringsHaveEscapesAndMayIgnoreCase) {
  ExpectTexts(R"(start: "\"\n\\\x41\u00e9\U0001F600\/")", {{"\"\n\\A\u00e9\U0001F600/", kWhole}});
  ExpectTexts(R"(start: "a.b"i "c")", {{"A.bc", kWhole}, {"axb", kWrong}, {"a.bC", kWrong}});
  ExpectTexts(R"(start: "a" .. "c")", {{"b", kWhole}, {"d", kWrong}});
}

TEST(Lark, PatternsHaveFlags) {
  ExpectTexts(R"(start: /a\/[b-d]+/)", {{"a/bcd", kWhole}, {"a/", kBegun}, {"a/e", kWrong}});
  ExpectTexts(R"(start: /ab/i)", {{"aB", kWhole}});
  ExpectTexts(R"(start: /a./)", {{"ab", kWhole}, {"a\n", kWrong}});
  ExpectTexts(R"(start: /a./s)", {{"a\n", kWhole}});
}

TEST(Lark, CountsInBothNotations) {
  ExpectTexts("start: \"a\"~2 \"b\" ~ 1..2", {{"aab", kWhole}, {"aabb", kWhole}, {"ab", kWrong}});
  ExpectTexts("start: \"a\"{2} \"b\"{,1}", {{"aa", kWhole}, {"aab", kWhole}, {"aabb", kWrong}});
  ExpectTexts("start: x{2,}\nx: \"a\" start | \"b\"", {{"bb", kWhole}, {"b", kBegun}});
}

TEST(Lark, IgnoredTextStandsBehindTerminals) {
  ExpectTexts("start: WORD \",\" /[0-9]/\nWORD: /[a-z]/+\n%ignore / +/\n%ignore \"\\t\"",
              {{"ab ,\t 1  ", kWhole}, {"a b,1", kWrong}, {" ab,1", kWrong}});
  ExpectTexts("start: %json {x} \"b\"\n%ignore \" \"", {{"x b ", kWhole}, {"xb", kWhole}});
}

// Every way to cut a text into terminals counts.
TEST(Lark, TerminalsAreNotGreedy) {
  ExpectTexts("start: WORD \"if\"\nWORD: /[a-z]+/", {{"abcif", kWhole}, {"abc", kBegun}});
}

TEST(Lark, TerminalsHaveIntersectionAndComplement) {
  ExpectTexts(R"(start: LINES
    LINES: /[a-z\n]*/ & ~/(?s:.*)\n\n(?s:.*)/)",
              {{"ab\nc\n", kWhole}, {"a\n\n", kWrong}, {"A", kWrong}});
  ExpectTexts("start: X\nX: \"a\" | /[ab]/ & ~\"a\" /c?/", {{"a", kWhole}, {"b", kWhole}});
  ExpectTexts("start: X\nX: (~/b/)~2 & /../", {{"ab", kWhole}, {"bb", kWhole}});
}

TEST(Lark, ImportsTheCommonTerminals) {
  ExpectTexts(
      "start: INT TAIL\n%import common.INT\n%import common (WS, ESCAPED_STRING)\n"
      "%import common.CNAME -> TAIL\n%ignore WS",
      {{"12 a_1", kWhole}, {"12", kBegun}, {"12 1", kWrong}, {"12 \"", kWrong}});
  ExpectTexts("start: ESCAPED_STRING\n%import common.ESCAPED_STRING",
              {{R"("a\"b")", kWhole}, {R"("a"b")", kWrong}, {R"("a\")", kBegun}});
  ExpectTexts("start: C_COMMENT\n%import common.C_COMMENT",
              {{"/* a **/", kWhole}, {"/**/ */", kWrong}, {"/*", kBegun}});
  ExpectTexts("start: SIGNED_NUMBER\n%import common.SIGNED_NUMBER",
              {{"-1.5e+3", kWhole}, {".5", kWhole}, {"1.", kWhole}, {".", kBegun}});
}

TEST(Lark, LazyRulesEndAsSoonAsTheyCan) {
  ExpectTexts(R"(start: body "x"
    body[capture, suffix="<end>"]: /(?s:.*)/)",
              {{"a<end>x", kWhole}, {"a<end>b", kWrong}, {"a<en<end>x", kWhole}});
  ExpectTexts("start: n \"1\"\nn[lazy]: /[0-9]+/", {{"21", kWhole}, {"221", kWrong}});
}

TEST(Lark, SpecialTokensAndSchemasStandInRules) {
  const std::string call(kCall);
  const std::string token(kToken102);
  ExpectTexts("start: <|call|> %json {\"{\"} <[101-102]>",
              {{call + "\"{\"" + token, kWhole}, {call + "{", kWrong}, {"<|call|>", kWrong}});
}

TEST(Lark, SaysWhereAndWhatIsWrong) {
  struct Case {
    std::string grammar;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"", "lark:1:1: found no rule start"},
      {"start: a", "lark:1:8: rule a is not defined"},
      {"start: A", "lark:1:8: terminal A is not defined"},
      {"start: A\nA: B\nB: \"x\" A", "lark:3:8: terminal A is part of itself"},
      {"start: A\nA: b\nb: \"x\"", "lark:2:4: found rule b, expected a terminal"},
      {"start: \"a\"\nstart: \"b\"", "lark:2:1: start is defined a second time"},
      {"start \"a\"", "lark:1:7: found '\"', expected :"},
      {"start: \"a", "lark:1:10: found the end, expected a character"},
      {"start: \"a\n\"", "lark:1:10: found the end of the line, expected \""},
      {"start: \"\\q\"", "lark:1:9: unknown escape '\\x5cq'"},
      {"start: /a", "lark:1:10: found the end of the line, expected /"},
      {"start: /a/l", "lark:1:8: flag l is not supported"},
      {"start: \"ab\"..\"c\"", "lark:1:8: 'ab'..'c' is no range of characters"},
      {"start: \"b\"..\"a\"", "lark:1:8: 'b'..'a' is no range of characters"},
      {"start: (\"a\"", "lark:1:12: found the end, expected )"},
      {"start: \"a\")", "lark:1:11: found ')', expected an end of line"},
      {"start: \"a\"{3,2}", "lark:1:8: at least 3, but at most 2"},
      {"start: \"a\"~9999999", "lark:1:12: 9999999 is more than 1000000"},
      {"start: ~\"a\"", "lark:1:8: & and ~ are for terminals, not for rules"},
      {"start: <|none|>", "lark:1:8: '<|none|>' is no special token of the model's"},
      {"start: <[102-103]>", "lark:1:8: '<[102-103]>': 103 is no special token of the model's"},
      {"start: <[*]>", "lark:1:8: found '<[*]>', expected numbers of tokens"},
      {"start: X\nX: <|call|>", "lark:2:4: a special token is for rules, not for terminals"},
      {"start: %json {\"not\": {}}", "lark:1:8: no value"},
      {"start: %json {\"a\"", "lark:1:18: found the end, expected }"},
      {"start: %regex {}", "lark:1:8: %regex is not supported"},
      {"%declare A", "lark:1:1: %declare is not supported"},
      {"%import python.X",
       "lark:1:9: found 'python', expected common, which alone can be imported"},
      {"start: X\n%import common.X", "lark:1:8: common has no terminal X"},
      {"start: X\nX: \"a\"\n%import common.INT -> X", "lark:2:1: X is imported, too"},
      {"start{x}: x", "lark:1:6: templates are not supported"},
      {"start: @other", "lark:1:8: grammars of other names are not supported"},
      {"start[stop=\"x\"]: /.*/", "lark:1:7: option stop is not supported"},
      {"start[max_tokens=\"x\"]: /.*/", "lark:1:7: option max_tokens is not supported"},
      {"start: start \"a\"", "grammar: it derives no text"},
      {"start: X\nX: \"a\" & \"b\"", "grammar: it derives no text"},
  };
  for (const Case& one : cases) {
    const Result<Grammar> grammar = Compile(one.grammar);
    ASSERT_FALSE(grammar.has_value()) << one.grammar;
    EXPECT_EQ(grammar.error().message, one.message);
  }
  EXPECT_EQ(Compile("start: %json {}", {}).error().message,
            "lark:1:8: %json is not supported here");
}

TEST(Lark, NestingIsLimited) {
  const auto nested = [](size_t depth) {
    return "start: " + std::string(depth, '(') + "\"a\"" + std::string(depth, ')');
  };
  EXPECT_EQ(Read(*Compile(nested(200)), "a"), kWhole);
  EXPECT_EQ(Compile(nested(201)).error().message,
            "lark:1:208: more than 200 expressions in one another");
  EXPECT_FALSE(Compile("start: X\nX: " + std::string(1'000'000, '~') + "\"a\"").has_value());
  EXPECT_EQ(Compile("start: start \"a\"" + std::string(1'000'000, '*')).error().message,
            "lark:1:14: more than 1000 expressions in one another");
  std::string chain = "start: T0\n";
  for (int i = 0; i < 10'000; ++i) {
    chain += fmt::format("T{}: T{}\n", i, i + 1);
  }
  EXPECT_EQ(Compile(chain + "T10000: \"a\"").error().message,
            "lark:1001:7: more than 1000 expressions in one another");
}

}  // namespace
}  // namespace weft
