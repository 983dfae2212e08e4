#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "grammar/regex/pattern.h"
#include "grammar/regex/regex.h"

namespace weft {
namespace {

constexpr uint32_t kMost = 10;

struct ReachCase {
  std::string_view pattern;
  RegexReach of_letters;  // a to z
};

TEST(RegexReach, HowFarLettersGo) {
  const std::vector<ReachCase> cases = {
      {"^.*$", {.length = kMost, .ends = false}},
      {"^.{3,7}$", {.length = 7, .ends = true}},
      {"^[a-z]{4}$", {.length = 4, .ends = true}},
      {"^[a-z]{20}$", {.length = kMost, .ends = false}},
      {"^[a-z]{4}1$", {.length = 4, .ends = true}},
      {"^([a-z]{2})*$", {.length = kMost, .ends = false}},
      {"^[a-y]*$", {.length = 0, .ends = false}},
      {"^[0-9]*$", {.length = 0, .ends = true}},
      {"^.{2}[a-y]*$", {.length = 2, .ends = false}},
      {"^([a-z]{2}|b{5})$", {.length = 2, .ends = false}},
      {"abc", {.length = kMost, .ends = false}},
      {"^a*[b-z]$", {.length = 1, .ends = false}},
      {"^(a.*|[b-z])$", {.length = 1, .ends = false}},
      {"^(a.{3}|[b-z].)$", {.length = 2, .ends = false}},
  };
  const SymbolSet letters({{'a', 'z'}});
  for (const ReachCase& each : cases) {
    RegexArena arena;
    const auto id = ParsePattern(&arena, each.pattern, PatternDialect::kEcma);
    ASSERT_TRUE(id) << each.pattern;
    EXPECT_EQ(arena.ReachOf(*id, letters, kMost), each.of_letters) << each.pattern;
  }
}

TEST(RegexReach, AllButSomeWordsGoesOn) {
  RegexArena arena;
  const RegexId id = arena.Not(arena.Words(std::vector<std::string>{"ab", "abc", "zzz"}));
  const RegexReach all = {.length = kMost, .ends = false};
  EXPECT_EQ(arena.ReachOf(id, SymbolSet({{'a', 'z'}}), kMost), all);
}

TEST(RegexReach, OfNothingIsNone) {
  RegexArena arena;
  const RegexReach none = {.length = 0, .ends = true};
  EXPECT_EQ(arena.ReachOf(RegexArena::Nothing(), SymbolSet({{'a', 'z'}}), kMost), none);
  EXPECT_EQ(arena.ReachOf(RegexArena::Empty(), SymbolSet({{'a', 'z'}}), kMost), none);
}

}  // namespace
}  // namespace weft
