#include "grammar/cfg/earley_recognizer.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "grammar/cfg/gbnf.h"
#include "grammar/cfg/grammar_builder.h"
#include "grammar/regex/text_recognizer.h"
#include "tests/grammar/cfg/grammar_fixtures.h"

namespace weft {
namespace {

using enum TextIs;

std::shared_ptr<const Grammar> Compile(std::string_view gbnf, const GrammarLimits& limits = {}) {
  GrammarBuilder builder(limits);
  const Result<GrammarExpr> root = ReadGbnf(&builder, gbnf);
  EXPECT_TRUE(root.has_value()) << root.error().message;
  Result<Grammar> grammar = builder.Build(*root);
  EXPECT_TRUE(grammar.has_value()) << grammar.error().message;
  return std::make_shared<const Grammar>(*std::move(grammar));
}

// States are numbered as they are found: the greatest on the way.
Recognizer::State GreatestState(EarleyRecognizer& recognizer, std::string_view text) {
  Recognizer::State state = recognizer.Start();
  Recognizer::State greatest = state;
  for (const char byte : text) {
    state = recognizer.Step(state, static_cast<uint8_t>(byte));
    if (state == Recognizer::kDead) return state;
    greatest = std::max(greatest, state);
  }
  return greatest;
}

std::string Times(std::string_view text, int count) {
  std::string whole;
  for (int i = 0; i < count; ++i) whole += text;
  return whole;
}

TEST(EarleyRecognizer, ListsTakeAsManyStatesHoweverLong) {
  // In each a nested x keeps the list from being one regex.
  constexpr std::string_view kX = "\nx ::= \"x\" | \"(\" x \")\"";
  for (const std::string_view list : {
           "root ::= root \",\" x | x",
           "root ::= x \",\" root | x",
           "root ::= x (\",\" x)*",
           "root ::= x tail\ntail ::= | \",\" x tail",
           "root ::= x \",\" a | x\na ::= b\nb ::= root",
       }) {
    SCOPED_TRACE(list);
    EarleyRecognizer recognizer(Compile(std::string(list) + std::string(kX)));
    const Recognizer::State few = GreatestState(recognizer, "x" + Times(",x", 3));
    ASSERT_GT(few, 0);
    EXPECT_LE(GreatestState(recognizer, "x" + Times(",x", 1000)), few + 1);
  }
}

TEST(EarleyRecognizer, NestingIsAsDeepAsTheText) {
  EarleyRecognizer recognizer(Compile("root ::= \"(\" root \")\" | \"x\""));
  const std::string open(10'000, '(');
  const std::string close(10'000, ')');
  EXPECT_EQ(Read(recognizer, open + "x" + close), kWhole);
  EXPECT_EQ(Read(recognizer, open + "x" + close.substr(1)), kBegun);
  EXPECT_EQ(Read(recognizer, open + "x" + close + ")"), kWrong);
}

TEST(EarleyRecognizer, AmbiguityDoesNotMatter) {
  EarleyRecognizer recognizer(
      Compile("root ::= root root | root root root | \"a\" | \"(\" root \")\" | "));
  EXPECT_EQ(Read(recognizer, Times("a", 150)), kWhole);
  EXPECT_EQ(Read(recognizer, "(" + Times("a", 50) + "()"), kBegun);
  EXPECT_EQ(Read(recognizer, "a)"), kWrong);
  EXPECT_TRUE(recognizer.status().has_value());
}

// Though they may be grouped in very many ways.
TEST(EarleyRecognizer, OperatorsTakeAsManyStatesHoweverLong) {
  EarleyRecognizer recognizer(
      Compile("root ::= root \"+\" root | root \"?\" root \":\" root | \"-\" root | \"(\" root "
              "\")\" | \"x\""));
  const Recognizer::State few = GreatestState(recognizer, "x+x+x+x+x");
  EXPECT_LE(GreatestState(recognizer, "x" + Times("+x", 1000)), few + 1);
  EXPECT_EQ(Read(recognizer, "-x+(x?x+x:-x)"), kWhole);
  EXPECT_EQ(Read(recognizer, "x?x+x"), kBegun);
  EXPECT_EQ(Read(recognizer, "x?x+:"), kWrong);
}

TEST(EarleyRecognizer, WhatIsRegularIsOneTerminal) {
  const auto json = Compile(R"gbnf(
    root ::= ws value
    value ::= string | number | "[" ws (value ("," ws value)*)? "]" ws
    string ::= "\"" char* "\"" ws
    char ::= [^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})
    number ::= "-"? ("0" | [1-9] [0-9]*) ws
    ws ::= ([ \t\n] ws)?
  )gbnf");
  EXPECT_EQ(json->terminal_count(), 5);  // ws; string or number; `[` ws, `,` ws and `]` ws
  EXPECT_EQ(Read(*json, " [ \"a\\u00e9\" , -10,[ ] ]"), kWhole);
  EXPECT_EQ(Read(*json, "[01"), kWrong);

  EXPECT_EQ(Compile("root ::= (a | b){3}\na ::= \"a\" a | \"c\"\nb ::= b \"b\" | \"c\"")
                ->terminal_count(),
            1);
}

TEST(EarleyRecognizer, TerminalsMayBeOtherRecognizers) {
  GrammarBuilder builder;
  const GrammarExpr number = builder.Terminal([] {
    RegexArena arena;
    const RegexId id = arena.Repeat(arena.Set(SymbolSet({{'0', '9'}})), 1);
    return std::make_unique<TextRecognizer>(std::move(arena), id);
  });
  const GrammarExpr list = builder.Rule("list");
  builder.Define(list,
                 builder.Choice({builder.Sequence({list, builder.Literal("+"), number}), number}));
  const Result<Grammar> grammar = builder.Build(list);
  ASSERT_TRUE(grammar.has_value());
  EXPECT_EQ(Read(*grammar, "12+3"), kWhole);
  EXPECT_EQ(Read(*grammar, "12+"), kBegun);
  EXPECT_EQ(Read(*grammar, "+"), kWrong);
}

TEST(EarleyRecognizer, TerminalsWithoutTextAreLeftOut) {
  GrammarBuilder builder;
  const auto nothing = [] {
    return std::make_unique<TextRecognizer>(RegexArena(), RegexId::kNothing);
  };
  const Result<Grammar> grammar = builder.Build(builder.Choice(
      {builder.Sequence({builder.Literal("a"), builder.Terminal(nothing)}), builder.Literal("b")}));
  ASSERT_TRUE(grammar.has_value());
  EXPECT_EQ(Read(*grammar, "a"), kWrong);
  EXPECT_EQ(Read(*grammar, "b"), kWhole);
}

TEST(EarleyRecognizer, SpecialTokensAreNoText) {
  GrammarBuilder builder;
  const Result<Grammar> grammar = builder.Build(builder.SpecialToken((1 << 14) + 2));
  ASSERT_TRUE(grammar.has_value());
  EXPECT_EQ(Read(*grammar, std::string("\xFF\x01\0\x02", 4)), kWhole);
  EXPECT_EQ(Read(*grammar, std::string("\xFF\0", 2)), kWrong);
}

TEST(EarleyRecognizer, LargeCountsTakeFewRules) {
  const auto grammar = Compile("root ::= x{3,1000000}\nx ::= \"x\" | \"(\" x \")\"");
  EXPECT_LT(grammar->symbol_count(), 100);
  EXPECT_EQ(Read(*grammar, "xx"), kBegun);
  EXPECT_EQ(Read(*grammar, Times("(x)", 1000)), kWhole);
  const auto exact = Compile("root ::= x{1001}\nx ::= \"x\" | \"(\" x \")\"");
  EXPECT_EQ(Read(*exact, Times("x", 1000)), kBegun);
  EXPECT_EQ(Read(*exact, Times("x", 1001)), kWhole);
  EXPECT_EQ(Read(*exact, Times("x", 1002)), kWrong);
}

// Doubled forty times over, as a bomb of rules.
TEST(EarleyRecognizer, RulesAreNotCopiedWithoutLimit) {
  std::string bomb = "root ::= r0 r0\n";
  for (int i = 0; i < 40; ++i) bomb += fmt::format("r{} ::= r{} r{}\n", i, i + 1, i + 1);
  EXPECT_EQ(Read(*Compile(bomb + "r40 ::= \"a\""), Times("a", 10'000)), kBegun);
  EXPECT_EQ(Read(*Compile(bomb + "r40 ::= \"a\"?"), Times("a", 100)), kWhole);
  EXPECT_EQ(Read(*Compile(bomb + "r40 ::= root?"), ""), kWhole);
}

TEST(EarleyRecognizer, ManyRulesAreRead) {
  std::string rules = "root ::= r0\n";
  for (int i = 0; i < 100'000; ++i) rules += fmt::format("r{} ::= r{}\n", i, i + 1);
  EXPECT_EQ(Read(*Compile(rules + "r100000 ::= \"a\""), "a"), kWhole);
  EXPECT_EQ(Read(*Compile(rules + "r100000 ::= \"a\" r0 \"b\" | \"c\""), "aacbb"), kWhole);
}

TEST(EarleyRecognizer, FailsBeyondItsMemory) {
  const auto grammar = Compile("root ::= \"(\" root \")\" | \"aaa\"");
  EarleyRecognizer recognizer(grammar, {.max_bytes = 1 << 20});
  EXPECT_EQ(Read(recognizer, "aaa"), kWhole);
  EXPECT_TRUE(recognizer.status().has_value());
  EXPECT_EQ(Read(recognizer, std::string(100'000, '(')), kWrong);
  ASSERT_FALSE(recognizer.status().has_value());
  EXPECT_EQ(recognizer.status().error().message,
            "grammar: what the text may be takes more than 1048576 bytes");
  EXPECT_EQ(recognizer.status().error().code, ErrorCode::kResourceExhausted);
}

// Each rule is in question at the text's beginning.
TEST(EarleyRecognizer, FailsWhereTooMuchIsInQuestion) {
  std::string rules = "root ::= r0";
  for (int i = 1; i < 5000; ++i) rules += fmt::format(" | r{}", i);
  for (int i = 0; i < 5000; ++i) rules += fmt::format("\nr{0} ::= \"a\" r{0} \"{0}\" | \"c\"", i);
  const auto grammar = Compile(rules);
  EarleyRecognizer enough(grammar);
  EXPECT_EQ(Read(enough, "aac12"), kBegun);
  EXPECT_TRUE(enough.status().has_value());
  EarleyRecognizer recognizer(grammar, {.max_items = 5000});
  EXPECT_EQ(recognizer.Start(), Recognizer::kDead);
  ASSERT_FALSE(recognizer.status().has_value());
  EXPECT_EQ(
      recognizer.status().error().message,
      "grammar: 5001 parts come into question at one place of the text, expected at most 5000; "
      "looked at 0 times, expected at most 500000");
}

TEST(EarleyRecognizer, FailsWhereAmbiguityIsTooMuchWork) {
  const auto grammar = Compile("root ::= root root root | \"a\" | \"(\" root \")\"");
  EarleyRecognizer recognizer(grammar, {.max_work = 1000});
  EXPECT_EQ(Read(recognizer, Times("a", 10)), kBegun);
  EXPECT_TRUE(recognizer.status().has_value());
  EXPECT_EQ(Read(recognizer, Times("a", 101)), kWrong);
  EXPECT_FALSE(recognizer.status().has_value());
}

TEST(EarleyRecognizer, FailsWhereAllTogetherIsTooMuchWork) {
  const auto grammar = Compile("root ::= \"a\" root \"b\" | \"c\"");
  EarleyRecognizer recognizer(grammar, {.max_work_in_all = 100});
  EXPECT_EQ(Read(recognizer, Times("a", 5)), kBegun);
  EXPECT_EQ(Read(recognizer, Times("a", 101)), kWrong);
  EXPECT_EQ(recognizer.status().error().message,
            "grammar: to know what the text may be takes more than 100 steps");
}

TEST(GrammarBuilder, RefusesMoreThanItsLimits) {
  GrammarBuilder builder({.max_expressions = 10});
  GrammarExpr expr = builder.Literal("a");
  for (int i = 0; i < 10; ++i) expr = builder.Sequence({expr, builder.Literal("b")});
  EXPECT_EQ(builder.Build(expr).error().message, "grammar: more than 10 expressions");

  GrammarBuilder counts({.max_expressions = 20, .max_fused_expressions = 0});
  EXPECT_EQ(counts.Build(counts.Repeat(counts.Literal("a"), 1000, 3000)).error().message,
            "grammar: rules of more than 20 symbols");
}

TEST(GrammarBuilder, RefusesRulesWithoutDefinition) {
  GrammarBuilder builder;
  EXPECT_EQ(builder.Build(builder.Rule("call")).error().message,
            "grammar: rule call is used, but not defined");
}

TEST(GrammarBuilder, SaysWhatTheArenaSays) {
  GrammarBuilder builder;
  std::vector<GrammarExpr> words;
  for (int i = 0; i < 300'000; ++i) words.push_back(builder.Literal(std::to_string(i)));
  const Result<Grammar> grammar = builder.Build(builder.Choice(words));
  ASSERT_FALSE(grammar.has_value());
  EXPECT_EQ(grammar.error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace weft
