#include "grammar/regex/regex.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::HasSubstr;

bool Matches(RegexArena* arena, RegexId id, std::u32string_view text) {
  for (const char32_t symbol : text) {
    RegexId next = RegexId::kNothing;
    for (const RegexEdge& edge : arena->Edges(id)) {
      if (edge.first <= symbol && symbol <= edge.last) next = edge.next;
    }
    if (next == RegexId::kNothing) return false;
    id = next;
  }
  return arena->Nullable(id);
}

RegexId Range(RegexArena* arena, Symbol first, Symbol last) {
  return arena->Set(SymbolSet({{first, last}}));
}

// All texts of a and b with at most four letters, as a set of their numbers: what the constructors
// must mean, without derivatives. (Concatenations are exact up to that length.)
using Language = std::set<std::u32string>;
constexpr size_t kLongest = 4;

Language AllShortTexts() {
  Language all = {U""};
  std::vector<std::u32string> last = {U""};
  for (size_t length = 1; length <= kLongest; ++length) {
    std::vector<std::u32string> longer;
    for (const std::u32string& text : last) {
      longer.push_back(text + U'a');
      longer.push_back(text + U'b');
    }
    all.insert(longer.begin(), longer.end());
    last = longer;
  }
  return all;
}

Language Concatenated(const Language& a, const Language& b) {
  Language both;
  for (const std::u32string& first : a) {
    for (const std::u32string& second : b) {
      if (first.size() + second.size() <= kLongest) both.insert(first + second);
    }
  }
  return both;
}

Language Repeated(const Language& it, uint32_t min, std::optional<uint32_t> max) {
  Language power = {U""};
  Language all;
  // More than min + kLongest rounds add nothing that is short enough.
  for (uint32_t count = 0; count <= max.value_or(min + kLongest); ++count) {
    if (count >= min) all.insert(power.begin(), power.end());
    power = Concatenated(power, it);
  }
  return all;
}

struct Meant {
  RegexId id;
  Language language;
};

Meant RandomExpression(RegexArena* arena, std::mt19937* random, int depth) {
  const auto pick = [&](uint32_t below) { return static_cast<uint32_t>((*random)() % below); };
  if (depth == 0 || pick(6) == 0) {
    switch (pick(5)) {
      case 0:
        return {arena->Literal("a"), {U"a"}};
      case 1:
        return {arena->Literal("b"), {U"b"}};
      case 2:
        return {Range(arena, 'a', 'b'), {U"a", U"b"}};
      case 3:
        return {RegexId::kEmpty, {U""}};
      default:
        return {arena->Words(std::vector<std::string>{"ab", "abba", "b"}), {U"ab", U"abba", U"b"}};
    }
  }
  Meant a = RandomExpression(arena, random, depth - 1);
  const uint32_t kind = pick(6);
  if (kind == 0) {
    const uint32_t min = pick(4);
    if (pick(2) == 0) return {arena->Repeat(a.id, min), Repeated(a.language, min, std::nullopt)};
    const uint32_t max = min + pick(3);
    return {arena->Repeat(a.id, min, max), Repeated(a.language, min, max)};
  }
  Language result;
  if (kind == 1) {
    std::ranges::set_difference(AllShortTexts(), a.language, std::inserter(result, result.end()));
    return {arena->Not(a.id), result};
  }
  const Meant b = RandomExpression(arena, random, depth - 1);
  if (kind == 2) {
    std::ranges::set_intersection(a.language, b.language, std::inserter(result, result.end()));
    return {arena->And(a.id, b.id), result};
  }
  if (kind == 3) {
    std::ranges::set_union(a.language, b.language, std::inserter(result, result.end()));
    return {arena->Or(a.id, b.id), result};
  }
  return {arena->Concat(a.id, b.id), Concatenated(a.language, b.language)};
}

TEST(RegexArena, DerivativesMatchWhatExpressionsMean) {
  const Language all = AllShortTexts();
  size_t empty = 0;
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    std::mt19937 random(seed);
    RegexArena arena;
    Meant meant = RandomExpression(&arena, &random, 4);
    // Of complements, too, the texts of a and b alone.
    meant.id = arena.And(meant.id, arena.Repeat(Range(&arena, 'a', 'b'), 0));
    Language found;
    for (const std::u32string& text : all) {
      if (Matches(&arena, meant.id, text)) found.insert(text);
    }
    ASSERT_EQ(found, meant.language) << "seed " << seed;
    ASSERT_TRUE(arena.status().has_value());
    if (arena.IsEmpty(meant.id)) {
      ++empty;
      ASSERT_TRUE(meant.language.empty()) << "seed " << seed;
      ASSERT_EQ(arena.ShortestWord(meant.id), std::nullopt);
      ASSERT_EQ(arena.CountWords(meant.id, 100), 0U);
      continue;
    }
    const std::vector<Symbol> word = arena.ShortestWord(meant.id).value();
    ASSERT_TRUE(Matches(&arena, meant.id, std::u32string(word.begin(), word.end())));
    size_t shortest = kLongest + 1;
    for (const std::u32string& text : meant.language) shortest = std::min(shortest, text.size());
    if (shortest <= kLongest) {
      ASSERT_EQ(word.size(), shortest) << "seed " << seed;
    } else {
      ASSERT_GT(word.size(), kLongest) << "seed " << seed;
    }
    ASSERT_LE(arena.MinLength(meant.id), word.size());
  }
  EXPECT_GT(empty, 20U);
}

TEST(RegexArena, EveryEdgeLeadsToAText) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    RegexArena arena;
    const RegexId id = RandomExpression(&arena, &random, 5).id;
    std::vector<RegexId> open = {id};
    std::set<RegexId> seen = {id};
    while (!open.empty()) {
      const RegexId at = open.back();
      open.pop_back();
      Symbol behind = 0;
      for (const RegexEdge& edge : arena.Edges(at)) {
        ASSERT_TRUE(edge.first >= behind && edge.first <= edge.last);
        behind = edge.last + 1;
        ASSERT_TRUE(arena.ShortestWord(edge.next).has_value()) << "seed " << seed;
        if (seen.insert(edge.next).second) open.push_back(edge.next);
      }
    }
    ASSERT_TRUE(arena.status().has_value()) << "seed " << seed;
  }
}

TEST(RegexArena, TheSameExpressionIsOne) {
  RegexArena arena;
  const RegexId a = arena.Literal("a");
  const RegexId word = arena.Literal("word");
  EXPECT_EQ(arena.Or(a, word), arena.Or(word, a));
  EXPECT_EQ(arena.Or(std::array{a, arena.Or(word, a)}), arena.Or(a, word));
  EXPECT_EQ(arena.And(a, a), a);
  EXPECT_EQ(arena.Concat(arena.Concat(a, word), a), arena.Concat(a, arena.Concat(word, a)));
  EXPECT_EQ(arena.Or(a, arena.Literal("b")), Range(&arena, 'a', 'b'));
  EXPECT_EQ(arena.And(Range(&arena, 'a', 'm'), Range(&arena, 'k', 'z')), Range(&arena, 'k', 'm'));
  EXPECT_EQ(arena.Not(arena.Not(word)), word);
  EXPECT_EQ(arena.Or(word, arena.Not(word)), arena.AnyText());
  EXPECT_EQ(arena.And(word, arena.Not(word)), RegexId::kNothing);
  EXPECT_EQ(arena.And(word, arena.AnyText()), word);
  EXPECT_EQ(arena.Or(word, arena.AnyText()), arena.AnyText());
  EXPECT_EQ(arena.Not(RegexId::kNothing), arena.AnyText());
  EXPECT_EQ(arena.Repeat(arena.Repeat(a, 0), 2, 5), arena.Repeat(a, 0));
  EXPECT_EQ(arena.Concat(a, arena.Repeat(a, 2, 3)), arena.Repeat(a, 3, 4));
  EXPECT_EQ(arena.Or(arena.Repeat(a, 1, 3), arena.Repeat(a, 4, 9)), arena.Repeat(a, 1, 9));
}

TEST(RegexArena, ComplementIsOfTextsWithoutSpecialTokens) {
  RegexArena arena;
  const RegexId special = Range(&arena, kFirstSpecialSymbol + 7, kFirstSpecialSymbol + 7);
  const std::u32string token(1, kFirstSpecialSymbol + 7);
  EXPECT_TRUE(Matches(&arena, special, token));
  EXPECT_FALSE(Matches(&arena, arena.Not(arena.Literal("a")), token));
  EXPECT_FALSE(Matches(&arena, arena.Not(arena.Not(special)), token));
  const RegexId both = arena.Or(special, arena.AnyText());
  EXPECT_TRUE(Matches(&arena, both, token));
  EXPECT_TRUE(Matches(&arena, both, U"any"));
  EXPECT_FALSE(Matches(&arena, arena.And(both, arena.AnyText()), token));
  EXPECT_TRUE(Matches(&arena, arena.And(both, arena.AnyText()), U"any"));
}

TEST(RegexArena, SetsLeaveSurrogatesOut) {
  RegexArena arena;
  EXPECT_EQ(Range(&arena, 0xD800, 0xDFFF), RegexId::kNothing);
  EXPECT_EQ(Range(&arena, 0, kLastCodePoint), arena.Set(SymbolSet::AllCodePoints()));
}

TEST(RegexArena, BigCountsAreNotWrittenOut) {
  RegexArena arena({.expressions = 1000, .bytes = 1 << 20});
  const RegexId many = arena.Repeat(arena.Literal("ab"), 100'000, 1'000'000'000);
  EXPECT_FALSE(arena.IsEmpty(many));
  EXPECT_EQ(arena.MinLength(many), 200'000U);
  EXPECT_TRUE(Matches(&arena, arena.Repeat(many, 0, 1), U""));
  EXPECT_FALSE(Matches(&arena, many, U"abab"));
  EXPECT_TRUE(arena.status().has_value());
}

TEST(RegexArena, LongCommonTextsAreFoundWithoutGoingThroughAllOthers) {
  RegexArena arena({.expressions = 5000, .bytes = 1 << 22});
  const RegexId letters = Range(&arena, 'a', 'z');
  const RegexId foo =
      arena.Concat(std::array{arena.AnyText(), arena.Literal("foo"), arena.AnyText()});
  const RegexId both = arena.And(arena.Repeat(letters, 3, 100'000), foo);
  EXPECT_EQ(arena.ShortestWord(both)->size(), 3U);
  EXPECT_TRUE(arena.IsEmpty(arena.And(arena.Repeat(letters, 0, 200), arena.Literal("A"))));
  EXPECT_TRUE(arena.IsEmpty(arena.And(arena.Repeat(letters, 0, 2), foo)));
  EXPECT_TRUE(arena.status().has_value());
}

TEST(RegexArena, ATextThatNeedsWhatAnotherDoesNotHaveIsNotSearchedFor) {
  RegexArena arena;
  const RegexId digits = arena.Repeat(Range(&arena, '0', '9'), 0);
  const RegexId any = arena.AnyText();
  const RegexId has_t = arena.Concat(std::array{any, arena.Literal("T"), any});
  EXPECT_EQ(arena.And(has_t, digits), RegexId::kNothing);
  EXPECT_EQ(arena.And(arena.Or(has_t, arena.Literal("T0")), digits), RegexId::kNothing);
  // Where one alternative, or no repetition, does without it, there may be one.
  for (const RegexId may_have_t : {arena.Or(has_t, arena.Literal("1")), arena.Optional(has_t),
                                   arena.Not(has_t), arena.Concat(Range(&arena, 'T', 'U'), any)}) {
    EXPECT_NE(arena.And(may_have_t, digits), RegexId::kNothing);
  }
}

TEST(RegexArena, ManyWordsShareWhatTheyHaveInCommon) {
  std::vector<std::string> words;
  for (int i = 0; i < 100'000; ++i) words.push_back("number " + std::to_string(i) + " of all");
  RegexArena arena({.expressions = 1000, .bytes = 1 << 20});
  const RegexId id = arena.Words(words);
  EXPECT_TRUE(Matches(&arena, id, U"number 4711 of all"));
  EXPECT_FALSE(Matches(&arena, id, U"number 100000 of all"));
  EXPECT_FALSE(Matches(&arena, id, U"number 4711 of al"));
  EXPECT_EQ(arena.CountWords(id, 1'000'000), 100'000U);
  EXPECT_EQ(arena.MinLength(id), 15U);
  EXPECT_TRUE(arena.status().has_value());
}

TEST(RegexArena, WordsThatShareNothingAreBounded) {
  const auto fits = [](const std::vector<std::string>& words) {
    RegexArena arena({.bytes = 1 << 20});
    arena.Words(words);
    return arena.status().has_value();
  };
  const std::string long_word(8000, 'a');
  EXPECT_TRUE(fits({"b", long_word}));
  const std::string half(4000, 'a');  // counts twice while the second word is open
  EXPECT_TRUE(fits({"b" + half, "c" + half}));
  EXPECT_FALSE(fits({"b", long_word + long_word}));
  EXPECT_FALSE(fits({"b" + long_word + "b", "c" + long_word + "c"}));
}

TEST(RegexArena, WordsMayBeginOthersAndComeTwice) {
  RegexArena arena;
  const RegexId id = arena.Words(std::vector<std::string>{"ab", "", "a", "ab", "\xC3\xA4"});
  EXPECT_EQ(arena.CountWords(id, 100), 4U);
  EXPECT_TRUE(Matches(&arena, id, U""));
  EXPECT_TRUE(Matches(&arena, id, U"\u00E4"));
  EXPECT_EQ(arena.Words(std::vector<std::string>{"one"}), arena.Literal("one"));
}

TEST(RegexArena, CountsWords) {
  RegexArena arena;
  const RegexId digit = Range(&arena, '0', '9');
  EXPECT_EQ(arena.CountWords(RegexId::kEmpty, 10), 1U);
  EXPECT_EQ(arena.CountWords(arena.Repeat(digit, 0, 3), 10'000), 1111U);
  EXPECT_EQ(arena.CountWords(arena.Repeat(digit, 0, 3), 1111), 1111U);
  EXPECT_EQ(arena.CountWords(arena.Repeat(digit, 0, 3), 1000), 1000U);
  EXPECT_EQ(arena.CountWords(arena.Repeat(digit, 1), 1000), 1000U);
  EXPECT_EQ(arena.CountWords(arena.AnyText(), UINT64_MAX), UINT64_MAX);
}

TEST(RegexArena, ALimitStaysReachedAndNothingIsAccepted) {
  RegexArena arena({.expressions = 200, .bytes = 1 << 20});
  // An x, and twelve symbols behind it: thousands of states.
  const RegexId symbol = Range(&arena, 'a', 'z');
  const RegexId id = arena.Concat(std::array{arena.Repeat(symbol, 0), arena.Literal("x"),
                                             arena.Repeat(arena.Concat(symbol, symbol), 6, 6)});
  const RegexId other = arena.Not(id);
  EXPECT_TRUE(arena.status().has_value());
  arena.CountWords(arena.And(other, arena.Repeat(symbol, 14, 14)), UINT64_MAX);
  ASSERT_FALSE(arena.status().has_value());
  EXPECT_EQ(arena.status().error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(arena.status().error().message, HasSubstr("more than 200 states"));
  EXPECT_TRUE(arena.Edges(other).empty());
  EXPECT_TRUE(arena.IsEmpty(other));
  EXPECT_EQ(arena.Not(RegexId::kNothing), RegexId::kNothing);
  EXPECT_EQ(arena.Literal("a"), RegexId::kNothing);
}

TEST(RegexArena, ALimitMayBeReachedInTheMiddleOfCounting) {
  RegexArena arena({.expressions = 2000});
  const RegexId symbol = Range(&arena, 'a', 'b');
  const RegexId pair =
      arena.Concat(std::array{arena.AnyText(), arena.Literal("a"), arena.Repeat(symbol, 12, 12),
                              arena.Literal("b"), arena.AnyText()});
  const RegexId id = arena.And(arena.Repeat(symbol, 40, 40), arena.Not(pair));
  EXPECT_EQ(arena.ShortestWord(id)->size(), 40U);
  EXPECT_EQ(arena.CountWords(id, UINT64_MAX), 0U);
  EXPECT_FALSE(arena.status().has_value());
}

TEST(RegexArena, StepsAreBounded) {
  RegexArena arena({.steps = 200});
  std::vector<RegexId> texts;
  for (Symbol symbol = 'a'; symbol < 'z'; ++symbol) {
    texts.push_back(arena.Concat(Range(&arena, 'a', symbol), Range(&arena, symbol, 'z')));
  }
  EXPECT_FALSE(arena.Edges(arena.Or(std::span(texts).first(5))).empty());
  EXPECT_TRUE(arena.Edges(arena.Or(texts)).empty());
  EXPECT_THAT(arena.status().error().message, HasSubstr("more than 200 steps"));
}

TEST(RegexArena, NestingIsBounded) {
  RegexArena arena;
  RegexId id = arena.Literal("ab");
  for (int i = 0; i < 5000; ++i) {
    id = arena.Repeat(arena.Concat(id, arena.Literal("c")), 1);
  }
  ASSERT_FALSE(arena.status().has_value());
  EXPECT_THAT(arena.status().error().message, HasSubstr("levels of nesting"));
}

TEST(RegexArena, ManyOptionalPartsAreNoNesting) {
  RegexArena arena;
  std::vector<RegexId> parts;
  for (int i = 0; i < 2000; ++i) {
    parts.push_back(arena.Optional(arena.Literal(i % 2 == 0 ? "a" : "b")));
  }
  EXPECT_TRUE(Matches(&arena, arena.Concat(parts), U"abba"));
  EXPECT_TRUE(arena.status().has_value());
}

TEST(RegexArena, ACopyGoesOnByItself) {
  RegexArena arena;
  const RegexId id = arena.Literal("ab");
  RegexArena copy = arena;
  EXPECT_TRUE(Matches(&copy, id, U"ab"));
  EXPECT_EQ(copy.Literal("ab"), id);
  EXPECT_NE(copy.Literal("cd"), RegexId::kNothing);
  EXPECT_TRUE(Matches(&arena, id, U"ab"));
}

}  // namespace
}  // namespace weft
