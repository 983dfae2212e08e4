#include "engine/stop_matcher.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

struct Outcome {
  std::string text;
  std::optional<size_t> stop;
  bool operator==(const Outcome&) const = default;
};

StopMatcher MakeMatcher(std::vector<std::string> strings, bool include_stop = false) {
  return {std::make_shared<const StopStrings>(std::move(strings)), include_stop};
}

Outcome Feed(StopMatcher matcher, const std::vector<std::string>& pieces) {
  Outcome outcome;
  for (const std::string& piece : pieces) {
    outcome.stop = matcher.Push(piece, true, outcome.text);
    if (outcome.stop) return outcome;
  }
  matcher.Flush(outcome.text);
  return outcome;
}

// The definition, spelt out: the first byte after which the text ends with a stop string, of
// several the longest.
Outcome Naive(const std::vector<std::string>& strings, const std::string& text, bool include_stop) {
  for (size_t end = 1; end <= text.size(); ++end) {
    std::optional<size_t> stop;
    for (size_t i = 0; i < strings.size(); ++i) {
      const std::string& string = strings[i];
      if (end >= string.size() && text.compare(end - string.size(), string.size(), string) == 0 &&
          (!stop || string.size() > strings[*stop].size()))
        stop = i;
    }
    if (stop) return {text.substr(0, include_stop ? end : end - strings[*stop].size()), stop};
  }
  return {text, std::nullopt};
}

std::vector<std::string> Cut(const std::string& text, uint64_t cuts) {
  std::vector<std::string> pieces(1);
  for (size_t i = 0; i < text.size(); ++i) {
    pieces.back().push_back(text[i]);
    if ((cuts >> i & 1) != 0) pieces.emplace_back();
  }
  return pieces;
}

TEST(StopMatcher, AgreesWithNaiveSearchForEveryCut) {
  std::mt19937_64 random(1);
  int stopped = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<std::string> strings(random() % 4);
    for (std::string& string : strings) {
      string.resize(1 + random() % 5);
      for (char& byte : string) byte = static_cast<char>('a' + random() % 2);
    }
    std::string text(1 + random() % 9, ' ');
    for (char& byte : text) byte = static_cast<char>('a' + random() % 2);
    for (const bool include_stop : {false, true}) {
      const Outcome expected = Naive(strings, text, include_stop);
      stopped += expected.stop ? 1 : 0;
      for (uint64_t cuts = 0; cuts < uint64_t{1} << text.size(); ++cuts)
        ASSERT_EQ(Feed(MakeMatcher(strings, include_stop), Cut(text, cuts)), expected)
            << text << " cut " << cuts << " round " << round;
    }
  }
  EXPECT_GT(stopped, 200);
}

TEST(StopMatcher, HandsOutAllThatCannotBecomeAStopString) {
  std::string text;
  StopMatcher matcher = MakeMatcher({"abcab", "xy"});
  EXPECT_FALSE(matcher.Push("zabca", true, text));
  EXPECT_EQ(text, "z");
  EXPECT_FALSE(matcher.Push("x", true, text));  // "x" may begin "xy"
  EXPECT_EQ(text, "zabca");
  EXPECT_FALSE(matcher.Push("q", true, text));
  EXPECT_EQ(text, "zabcaxq");
}

TEST(StopMatcher, FindsAStopStringThatBeginsInsideAFailedOne) {
  EXPECT_EQ(Feed(MakeMatcher({"aab"}), {"aa", "a", "b!"}), (Outcome{"a", 0}));
  EXPECT_EQ(Feed(MakeMatcher({"abab!", "bac"}), {"ab", "ab", "ac"}), (Outcome{"aba", 1}));
}

TEST(StopMatcher, TheLongestOfThoseThatEndTogetherWins) {
  EXPECT_EQ(Feed(MakeMatcher({"b", "ab", "xab"}), {"xxab"}), (Outcome{"x", 2}));
}

TEST(StopMatcher, CutsInsideUtf8CharactersChangeNothing) {
  const std::string stop = "\xE2\x82\xAC";                 // the euro sign
  const std::string text = "5 \xE2\x82\xAD \xE2\x82\xAC";  // a kip sign shares its first two bytes
  for (uint64_t cuts = 0; cuts < 1U << text.size(); ++cuts)
    ASSERT_EQ(Feed(MakeMatcher({stop}), Cut(text, cuts)), (Outcome{"5 \xE2\x82\xAD ", 0}));
}

TEST(StopMatcher, PassesOverWhatEndsTooEarlyButNotWhatEndsLater) {
  StopMatcher matcher = MakeMatcher({"aba"});
  std::string text;
  EXPECT_FALSE(matcher.Push("aba", false, text));
  EXPECT_EQ(text, "ab");  // the last byte may begin another
  EXPECT_EQ(matcher.Push("ba", true, text), 0U);
  EXPECT_EQ(text, "ab");
}

TEST(StopMatcher, IncludeStopHoldsNothingBack) {
  StopMatcher matcher = MakeMatcher({"abc"}, true);
  std::string text;
  EXPECT_FALSE(matcher.Push("ab", true, text));
  EXPECT_EQ(text, "ab");
  EXPECT_EQ(matcher.Push("cde", true, text), 0U);
  EXPECT_EQ(text, "abc");
}

TEST(StopMatcher, EmptyTokensAndEmptyListsAreFine) {
  EXPECT_EQ(Feed(MakeMatcher({}), {"", "abc", ""}), (Outcome{"abc", std::nullopt}));
  EXPECT_EQ(Feed(MakeMatcher({"bc"}), {"ab", "", "c"}), (Outcome{"a", 0}));
}

}  // namespace
}  // namespace weft
