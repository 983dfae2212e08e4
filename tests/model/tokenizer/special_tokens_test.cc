#include "model/tokenizer/special_tokens.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

// "text|<id>|text|...": what Split makes of a text.
std::string SplitText(const SpecialTokenMatcher& matcher, std::string_view text,
                      bool match_control = true) {
  std::string result;
  for (const auto& [segment, token] : matcher.Split(text, match_control)) {
    result += segment;
    if (token != nullptr) result += "|" + std::to_string(token->id) + "|";
  }
  return result;
}

TEST(SpecialTokenMatcherTest, WithoutTokensTheTextIsOneSegment) {
  EXPECT_EQ(SplitText(SpecialTokenMatcher(), "a<s>"), "a<s>");
  EXPECT_EQ(SplitText(SpecialTokenMatcher(), ""), "");
}

TEST(SpecialTokenMatcherTest, TheLeftmostThenTheLongestMatchWins) {
  const SpecialTokenMatcher matcher({{"<a", 1}, {"<ab>", 2}, {"b>c", 3}, {"\xF0\x9F\xA6\x99", 4}});
  EXPECT_EQ(SplitText(matcher, "x<ab>c"), "x|2|c");
  EXPECT_EQ(SplitText(matcher, "x<abb>c"), "x|1|b|3|");
  EXPECT_EQ(SplitText(matcher, "<<a<ab"), "<|1||1|b");
  EXPECT_EQ(SplitText(matcher, "\xF0\x9F\xA6\x99\xF0\x9F\xA6"), "|4|\xF0\x9F\xA6");
}

TEST(SpecialTokenMatcherTest, ControlTokensCanBeLeftAsText) {
  const SpecialTokenMatcher matcher({{"<s>", 1, true}, {"<s", 2, false}, {"[x]", 3, false}});
  EXPECT_EQ(SplitText(matcher, "<s>[x]", true), "|1||3|");
  EXPECT_EQ(SplitText(matcher, "<s>[x]", false), "|2|>|3|");
}

TEST(SpecialTokenMatcherTest, OfTwoTokensWithOneTextTheFirstCounts) {
  EXPECT_EQ(SplitText(SpecialTokenMatcher({{"<s>", 7}, {"<s>", 8}}), "<s>"), "|7|");
}

TEST(SpecialTokenMatcherTest, StrippingTakesWhiteSpaceAlong) {
  const SpecialTokenMatcher left({{"<m>", 1, true, false, true, false}});
  EXPECT_EQ(SplitText(left, "a \n\u3000<m> b"), "a|1| b");
  EXPECT_EQ(SplitText(left, "  <m>  <m>"), "|1||1|");
  const SpecialTokenMatcher right({{"<m>", 1, true, false, false, true}});
  EXPECT_EQ(SplitText(right, "a <m> \n\u3000b"), "a |1|b");
  EXPECT_EQ(SplitText(right, "<m>  <m>  "), "|1||1|");
}

TEST(SpecialTokenMatcherTest, SingleWordsTouchNoWordCharacter) {
  const SpecialTokenMatcher matcher({{"the", 1, false, true}});
  EXPECT_EQ(SplitText(matcher, "the then bathe (the)the_ \u00e9the the\u00e9 the"),
            "|1| then bathe (|1|)the_ \u00e9the the\u00e9 |1|");
}

TEST(SpecialTokenMatcherTest, AMegabyteOfAlmostMatchesIsRead) {
  std::vector<SpecialToken> tokens;
  for (int i = 0; i < 1000; ++i) {
    tokens.push_back({"<|reserved_special_token_" + std::to_string(i) + "|>", i});
  }
  std::string text;
  while (text.size() < (1 << 20)) text += "<|reserved_special_token_";
  EXPECT_EQ(SpecialTokenMatcher(tokens).Split(text, true).size(), 1u);
}

}  // namespace
}  // namespace weft
