#include "grammar/regex/string_dfa.h"

#include <ios>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "grammar/regex/text_recognizer.h"

namespace weft {
namespace {

using State = StringDfa::State;
constexpr size_t npos = std::string_view::npos;

State Walk(StringDfa* dfa, RegexId id, std::string_view text) {
  State state = dfa->Start(id);
  for (const char byte : text) {
    if (state == StringDfa::kDead) break;
    state = dfa->Step(state, static_cast<uint8_t>(byte));
  }
  return state;
}

bool Accepts(StringDfa* dfa, RegexId id, std::string_view text) {
  const State state = Walk(dfa, id, text);
  return state != StringDfa::kDead && dfa->Accepts(state);
}

TEST(StringDfa, EverySymbolIsSpelledInOneWay) {
  RegexArena arena;
  StringDfa dfa(&arena, Spelling::kPlain);
  const RegexId one = arena.Set(SymbolSet::AllCodePoints());
  for (const char* text :
       {"a", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(Accepts(&dfa, one, text)) << text;
    EXPECT_FALSE(Accepts(&dfa, one, std::string(text) + "a"));
    for (size_t cut = 1; cut < std::string_view(text).size(); ++cut) {
      const State state = Walk(&dfa, one, std::string_view(text).substr(0, cut));
      ASSERT_NE(state, StringDfa::kDead);
      EXPECT_FALSE(dfa.AtRest(state));
      EXPECT_FALSE(dfa.Accepts(state));
    }
  }
  // Continuations alone, overlong forms, surrogates, above U+10FFFF, special tokens.
  for (const char* text : {"\x80", "\xBF", "\xC0", "\xC1", "\xC2\x20", "\xE0\x9F", "\xED\xA0",
                           "\xED\xBF", "\xF0\x8F", "\xF4\x90", "\xF5", "\xFF"}) {
    EXPECT_EQ(Walk(&dfa, one, text), StringDfa::kDead) << text;
  }
}

TEST(StringDfa, ASequenceIsAliveOnlyIfASymbolOfItIs) {
  RegexArena arena;
  StringDfa dfa(&arena, Spelling::kPlain);
  const RegexId euro = arena.Literal("\xE2\x82\xAC");
  EXPECT_TRUE(Accepts(&dfa, euro, "\xE2\x82\xAC"));
  EXPECT_NE(Walk(&dfa, euro, "\xE2\x82"), StringDfa::kDead);
  EXPECT_EQ(Walk(&dfa, euro, "\xE2\x83"), StringDfa::kDead);
  EXPECT_EQ(Walk(&dfa, euro, "\xE3"), StringDfa::kDead);
  EXPECT_EQ(Walk(&dfa, euro, "\xF0"), StringDfa::kDead);
}

TEST(StringDfa, SpecialTokensAreFourBytes) {
  RegexArena arena;
  StringDfa dfa(&arena, Spelling::kPlain);
  const Symbol symbol = kFirstSpecialSymbol + (1U << 14U | 2U << 7U | 127U);
  const RegexId id = arena.Concat(arena.Literal("a"), arena.Set(SymbolSet({{symbol, symbol}})));
  EXPECT_TRUE(Accepts(&dfa, id, "a\xFF\x01\x02\x7F"));
  EXPECT_FALSE(dfa.AtRest(Walk(&dfa, id, "a\xFF\x01\x02")));
  EXPECT_EQ(Walk(&dfa, id, "a\xFF\x01\x02\x7E"), StringDfa::kDead);
  EXPECT_EQ(Walk(&dfa, id, "a\xFF\x02"), StringDfa::kDead);
  EXPECT_EQ(Walk(&dfa, id, "a\xFF\x81"), StringDfa::kDead);
}

TEST(StringDfa, AJsonStringIsItsCharactersHoweverTheyAreSpelled) {
  RegexArena arena;
  StringDfa dfa(&arena, Spelling::kJsonString);
  const struct {
    const char* content;
    const char* spelled;
  } kCases[] = {
      {"a", "a"},
      {"a", R"(\u0061)"},
      {"/", R"(\/)"},
      {"/", "/"},
      {"\"", R"(\")"},
      {"\\", R"(\\)"},
      {"\b\f\n\r\t", R"(\b\f\n\r\t)"},
      {"\n", R"(\u000a)"},
      {"\n", R"(\u000A)"},
      {"\xC3\xA9", "\xC3\xA9"},
      {"\xC3\xA9", R"(\u00e9)"},
      {"\xED\x9F\xBF", R"(\uD7FF)"},
      {"\xEE\x80\x80", R"(\ue000)"},
      {"\xEF\xBF\xBF", R"(\uffff)"},
      {"\xF0\x9F\x98\x80", R"(\uD83D\uDE00)"},
      {"\xF0\x90\x80\x80", R"(\ud800\udc00)"},
      {"\xF4\x8F\xBF\xBF", R"(\udbff\udfff)"},
      {"\x7F", "\x7F"},
  };
  for (const auto& [content, spelled] : kCases) {
    const RegexId id = arena.Literal(content);
    EXPECT_TRUE(Accepts(&dfa, id, spelled)) << spelled;
    EXPECT_FALSE(Accepts(&dfa, arena.Not(id), spelled)) << spelled;
    EXPECT_FALSE(Accepts(&dfa, arena.Concat(id, arena.Literal("x")), spelled)) << spelled;
  }
}

TEST(StringDfa, WhatNoJsonStringHasIsDead) {
  RegexArena arena;
  StringDfa dfa(&arena, Spelling::kJsonString);
  const RegexId any = arena.AnyText();
  for (const char* text : {"\"", "\n", "\x1F", R"(\a)", R"(\x)", R"(\U)", R"(\ug)", R"(\u00g)",
                           R"(\uDC)", R"(\udf)", R"(\uD800a)", R"(\uD800\n)", R"(\uD800\u0)",
                           R"(\uD800\uD8)", R"(\uD800\uE)", "\xFF", "\xED\xA0"}) {
    EXPECT_EQ(Walk(&dfa, any, text), StringDfa::kDead) << text;
    const std::string_view before(text, std::string_view(text).size() - 1);
    EXPECT_NE(Walk(&dfa, any, before), StringDfa::kDead) << text;
  }
}

TEST(StringDfa, AnEscapeIsAliveOnlyIfItsCharacterMayCome) {
  RegexArena arena;
  StringDfa dfa(&arena, Spelling::kJsonString);
  const RegexId digits = arena.Repeat(arena.Set(SymbolSet({{'0', '9'}})), 0);
  EXPECT_NE(Walk(&dfa, digits, R"(\u003)"), StringDfa::kDead);
  EXPECT_EQ(Walk(&dfa, digits, R"(\u004)"), StringDfa::kDead);
  EXPECT_EQ(Walk(&dfa, digits, R"(\uD)"), StringDfa::kDead);
  EXPECT_EQ(Walk(&dfa, digits, R"(\n)"), StringDfa::kDead);
  const RegexId grin = arena.Literal("\xF0\x9F\x98\x80");
  EXPECT_NE(Walk(&dfa, grin, R"(\uD83D\uDE)"), StringDfa::kDead);
  EXPECT_EQ(Walk(&dfa, grin, R"(\uD83D\uDD)"), StringDfa::kDead);
  EXPECT_EQ(Walk(&dfa, grin, R"(\uD83E)"), StringDfa::kDead);
  EXPECT_EQ(Walk(&dfa, grin, R"(\uE)"), StringDfa::kDead);
  const RegexId private_use = arena.Set(SymbolSet({{0xE000, 0xE000}}));
  EXPECT_NE(Walk(&dfa, private_use, R"(\uE00)"), StringDfa::kDead);
  EXPECT_EQ(Walk(&dfa, private_use, R"(\uD)"), StringDfa::kDead);
}

// What a prefix may become is what its continuations may become.
TEST(SymbolDecoder, PossibleSymbolsAreThoseThatCome) {
  for (const Spelling spelling : {Spelling::kPlain, Spelling::kJsonString}) {
    std::vector<SpellingPrefix> open = {0};
    size_t prefixes = 0;
    while (!open.empty()) {
      const SpellingPrefix prefix = open.back();
      open.pop_back();
      ++prefixes;
      std::vector<SymbolRange> coming;
      for (int byte = 0; byte < 256; ++byte) {
        const DecodeStep step = DecodeByte(spelling, prefix, static_cast<uint8_t>(byte));
        if (step.kind == DecodeStep::Kind::kSymbol) coming.push_back({step.symbol, step.symbol});
        if (step.kind != DecodeStep::Kind::kPrefix) continue;
        const PossibleSymbols next(step.prefix);
        coming.insert(coming.end(), next.ranges().begin(), next.ranges().end());
        // Of digits and special tokens a few are gone on with.
        const bool digit = std::string_view("0378DdCc").find(static_cast<char>(byte)) != npos;
        if (prefix == 0 || byte >= 0x80 || byte == 'u' || byte == '\\' || digit) {
          open.push_back(step.prefix);
        }
      }
      if (prefix == 0) continue;
      const PossibleSymbols promised(prefix);
      const std::vector<SymbolRange> ranges(promised.ranges().begin(), promised.ranges().end());
      ASSERT_EQ(SymbolSet(ranges), SymbolSet(coming)) << std::hex << prefix;
    }
    EXPECT_GT(prefixes, 1000U);
  }
}

TEST(TextRecognizer, IsAliveWhereATextCanStillCome) {
  RegexArena arena;
  const RegexId id = arena.And(arena.Repeat(arena.Set(SymbolSet({{'a', 'b'}})), 2, 2),
                               arena.Not(arena.Concat(arena.Literal("b"), arena.AnyText())));
  TextRecognizer texts(arena, id);
  const Recognizer::State a = texts.Step(texts.Start(), 'a');
  ASSERT_NE(a, Recognizer::kDead);
  EXPECT_FALSE(texts.Accepts(a));
  EXPECT_TRUE(texts.Accepts(texts.Step(a, 'b')));
  EXPECT_EQ(texts.Step(texts.Start(), 'b'), Recognizer::kDead);
  EXPECT_EQ(texts.Step(texts.Step(a, 'a'), 'a'), Recognizer::kDead);
  EXPECT_TRUE(texts.status().has_value());
  TextRecognizer nothing(arena, arena.And(arena.Literal("ab"), arena.Literal("cd")));
  EXPECT_EQ(nothing.Start(), Recognizer::kDead);
}

TEST(TextRecognizer, SaysThatALimitWasReached) {
  RegexArena arena({.expressions = 10'000, .bytes = 100'000});
  TextRecognizer texts(arena, arena.Repeat(arena.Literal("ab"), 1000, 1000));
  Recognizer::State state = texts.Start();
  for (int i = 0; i < 1000 && state != Recognizer::kDead; ++i) {
    state = texts.Step(state, i % 2 == 0 ? 'a' : 'b');
  }
  EXPECT_EQ(state, Recognizer::kDead);
  EXPECT_FALSE(texts.status().has_value());
}

}  // namespace
}  // namespace weft
