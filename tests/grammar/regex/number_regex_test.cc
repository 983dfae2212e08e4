#include "grammar/regex/number_regex.h"

#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/grammar/regex/regex_match.h"

namespace weft {
namespace {

using testing::HasSubstr;

Decimal Number(std::string_view text) { return ParseDecimal(text).value(); }

TEST(Decimal, EqualNumbersAreEqual) {
  EXPECT_EQ(Number("1"), Number("1.0"));
  EXPECT_EQ(Number("100"), Number("1e2"));
  EXPECT_EQ(Number("0.05"), Number("5E-2"));
  EXPECT_EQ(Number("-0.0e5"), Number("0"));
  EXPECT_EQ(Number("12.30").digits, "123");
  EXPECT_EQ(Number("12.30").exponent, -1);
  EXPECT_TRUE(Number("-120").negative);
  EXPECT_TRUE(Number("1.5e1").IsInteger());
  EXPECT_FALSE(Number("1.5").IsInteger());
}

TEST(Decimal, IsOrdered) {
  const char* const ascending[] = {"-1e30", "-12",  "-1.21", "-1.2", "-0.001", "0",   "1e-9",
                                   "0.1",   "0.11", "0.9",   "1",    "1.01",   "9.9", "10"};
  for (size_t i = 0; i < std::size(ascending); ++i) {
    for (size_t k = 0; k < std::size(ascending); ++k) {
      EXPECT_EQ(Number(ascending[i]) <=> Number(ascending[k]), i <=> k)
          << ascending[i] << " and " << ascending[k];
    }
  }
}

TEST(Decimal, RefusesWhatIsNoNumberOfJson) {
  for (const char* text :
       {"", "-", "01", "+1", ".5", "1.", "1e", "1e+", "1 ", "0x1", "NaN", "--1", "1e1234567890"}) {
    EXPECT_FALSE(ParseDecimal(text).has_value()) << text;
  }
}

// Numbers as whole ten-thousandths, which the oracle counts in.
struct Scaled {
  std::string text;
  int64_t value = 0;
};

Scaled RandomNumber(std::mt19937* random, int max_places) {
  const auto pick = [&](uint32_t below) { return static_cast<int>((*random)() % below); };
  const int places = pick(static_cast<uint32_t>(max_places) + 1);
  constexpr int kLimits[] = {2, 12, 130, 2000};
  int64_t value = pick(static_cast<uint32_t>(kLimits[pick(4)]));
  std::string text = std::to_string(value);
  value *= 10'000;
  int64_t unit = 10'000;
  for (int i = 0; i < places; ++i) {
    const int digit = pick(3) == 0 ? pick(10) : 0;
    if (i == 0) text += '.';
    text += static_cast<char>('0' + digit);
    unit /= 10;
    value += unit * digit;
  }
  if (pick(3) == 0) return {"-" + text, -value};
  return {text, value};
}

TEST(NumberRegex, HoldsTheTextsOfItsNumbersAlone) {
  const char* const factors[] = {"1",   "2",    "3",  "7",   "0.5", "0.01",
                                 "2.5", "0.25", "12", "0.3", "1e1"};
  const int64_t factor_values[] = {10'000, 20'000, 30'000,  70'000, 5'000,  100,
                                   25'000, 2'500,  120'000, 3'000,  100'000};
  size_t members = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const auto maybe = [&] { return random() % 2 == 0; };
    NumberSet set{
        .integer = random() % 4 == 0, .exclusive_minimum = maybe(), .exclusive_maximum = maybe()};
    std::optional<int64_t> minimum, maximum, factor;
    if (maybe()) {
      const Scaled bound = RandomNumber(&random, 3);
      set.minimum = Number(bound.text);
      minimum = bound.value;
    }
    if (maybe()) {
      const Scaled bound = RandomNumber(&random, 3);
      set.maximum = Number(bound.text);
      maximum = bound.value;
    }
    if (maybe()) {
      const size_t which = random() % std::size(factors);
      set.multiple_of = Number(factors[which]);
      factor = factor_values[which];
    }
    RegexArena arena;
    const RegexId id = NumberRegex(&arena, set).value();
    const RegexId others = arena.And(PlainNumber(&arena), arena.Not(id));
    for (int i = 0; i < 150; ++i) {
      const Scaled number = RandomNumber(&random, 4);
      bool member = !set.integer || number.value % 10'000 == 0;
      if (minimum) {
        member =
            member && (set.exclusive_minimum ? number.value > *minimum : number.value >= *minimum);
      }
      if (maximum) {
        member =
            member && (set.exclusive_maximum ? number.value < *maximum : number.value <= *maximum);
      }
      if (factor) member = member && number.value % *factor == 0;
      members += member ? 1 : 0;
      ASSERT_EQ(RegexMatches(&arena, id, number.text), member) << number.text << ", seed " << seed;
      ASSERT_EQ(RegexMatches(&arena, others, number.text), !member) << number.text;
    }
    ASSERT_TRUE(arena.status().has_value());
  }
  EXPECT_GT(members, 5000U);
}

TEST(NumberRegex, IsOfTheGrammarOfJson) {
  RegexArena arena;
  for (const RegexId id :
       {PlainNumber(&arena), NumberRegex(&arena, {}).value(),
        NumberRegex(&arena, {.multiple_of = Number("0.1")}).value(),
        NumberRegex(&arena, {.minimum = Number("-5"), .maximum = Number("99")}).value()}) {
    for (const char* text : {"0", "-0", "1", "10.5", "0.0", "-1.20", "1.000000"}) {
      EXPECT_TRUE(RegexMatches(&arena, id, text)) << text;
    }
    for (const char* text : {"", "-", "00", "01", "-01", "1.", ".5", "+1", "1e5", "1E0", " 1"}) {
      EXPECT_FALSE(RegexMatches(&arena, id, text)) << text;
    }
  }
  const RegexId any = AnyNumber(&arena);
  for (const char* text : {"0", "-1.5e10", "1E+2", "0e-7", "3"}) {
    EXPECT_TRUE(RegexMatches(&arena, any, text)) << text;
  }
  for (const char* text : {"1e", "e5", "1e+", "1.e5", "01e5"}) {
    EXPECT_FALSE(RegexMatches(&arena, any, text)) << text;
  }
}

TEST(NumberRegex, OneNumberHasManyTexts) {
  RegexArena arena;
  const RegexId id =
      NumberRegex(&arena, {.minimum = Number("-2.50"), .maximum = Number("-2.5")}).value();
  EXPECT_TRUE(RegexMatches(&arena, id, "-2.5"));
  EXPECT_TRUE(RegexMatches(&arena, id, "-2.5000"));
  EXPECT_FALSE(RegexMatches(&arena, id, "2.5"));
  EXPECT_FALSE(RegexMatches(&arena, id, "-2.51"));
  const RegexId zero =
      NumberRegex(&arena, {.minimum = Number("0"), .maximum = Number("0")}).value();
  EXPECT_TRUE(RegexMatches(&arena, zero, "-0.00"));
  EXPECT_FALSE(RegexMatches(&arena, zero, "0.01"));
}

TEST(NumberRegex, LongBoundsAreExact) {
  RegexArena arena;
  const RegexId id = NumberRegex(&arena, {.minimum = Number("1e300")}).value();
  EXPECT_TRUE(RegexMatches(&arena, id, "1" + std::string(300, '0')));
  EXPECT_FALSE(RegexMatches(&arena, id, std::string(300, '9') + ".9"));
  const RegexId big = NumberRegex(&arena, {.minimum = Number("9007199254740993"),
                                           .maximum = Number("9007199254740993")})
                          .value();
  EXPECT_TRUE(RegexMatches(&arena, big, "9007199254740993"));
  EXPECT_FALSE(RegexMatches(&arena, big, "9007199254740992"));
  const RegexId small = NumberRegex(&arena, {.multiple_of = Number("1e-8")}).value();
  EXPECT_TRUE(RegexMatches(&arena, small, "12391239.12391239"));
  EXPECT_FALSE(RegexMatches(&arena, small, "0.123912391"));
}

TEST(NumberRegex, NothingFitsContradictions) {
  RegexArena arena;
  const auto is_empty = [&](NumberSet set, const char* minimum, const char* maximum) {
    set.minimum = Number(minimum);
    set.maximum = Number(maximum);
    return arena.IsEmpty(NumberRegex(&arena, set).value());
  };
  EXPECT_TRUE(is_empty({.integer = true}, "1.1", "1.9"));
  EXPECT_FALSE(is_empty({.integer = true}, "1.1", "2"));
  EXPECT_TRUE(is_empty({.multiple_of = Number("7")}, "8", "13"));
  EXPECT_FALSE(is_empty({.multiple_of = Number("7")}, "8", "14"));
  EXPECT_TRUE(is_empty({}, "3", "2"));
  EXPECT_TRUE(is_empty({.exclusive_maximum = true}, "3", "3"));
}

TEST(NumberRegex, RefusesByName) {
  RegexArena arena;
  const auto message = [&](const NumberSet& set) {
    return NumberRegex(&arena, set).error().message;
  };
  EXPECT_THAT(message({.multiple_of = Number("0")}), HasSubstr("not above 0"));
  EXPECT_THAT(message({.multiple_of = Number("-2")}), HasSubstr("not above 0"));
  EXPECT_THAT(message({.multiple_of = Number("123456.7")}), HasSubstr("20000 states"));
  EXPECT_THAT(message({.multiple_of = Number("1e-100000")}), HasSubstr("20000 states"));
  EXPECT_THAT(message({.minimum = Number("1e2000")}), HasSubstr("1000 digits"));
  EXPECT_THAT(message({.maximum = Number("1e-999999999")}), HasSubstr("1000 digits"));
}

TEST(SignedNumberRegex, TakesExponentsWhereTheSignDecides) {
  RegexArena arena;
  const RegexId positive =
      SignedNumberRegex(&arena, {.minimum = Number("0"), .exclusive_minimum = true}).value();
  for (const char* text : {"1", "0.5e-7", "100E5"}) {
    EXPECT_TRUE(RegexMatches(&arena, positive, text)) << text;
  }
  for (const char* text : {"0", "0e5", "-1e5", "-0.0e1"}) {
    EXPECT_FALSE(RegexMatches(&arena, positive, text)) << text;
  }
  const RegexId not_negative = SignedNumberRegex(&arena, {.minimum = Number("0")}).value();
  EXPECT_TRUE(RegexMatches(&arena, not_negative, "-0e3"));
  EXPECT_FALSE(RegexMatches(&arena, not_negative, "-1e-3"));
  EXPECT_TRUE(RegexMatches(&arena, SignedNumberRegex(&arena, {}).value(), "-1e-3"));
  EXPECT_EQ(SignedNumberRegex(&arena, {.minimum = Number("1")}), std::nullopt);
  EXPECT_EQ(SignedNumberRegex(&arena, {.integer = true}), std::nullopt);
  EXPECT_EQ(SignedNumberRegex(&arena, {.multiple_of = Number("1")}), std::nullopt);
}

}  // namespace
}  // namespace weft
