#include "grammar/regex/symbol_set.h"

#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

using Ranges = std::vector<SymbolRange>;

Ranges RangesOf(const SymbolSet& set) { return {set.ranges().begin(), set.ranges().end()}; }

TEST(SymbolSet, IsAsFewRangesAsThereCanBe) {
  EXPECT_EQ(RangesOf(SymbolSet({{5, 9}, {1, 2}, {3, 3}, {8, 12}})), (Ranges{{1, 3}, {5, 12}}));
}

TEST(SymbolSet, KnowsItsMembers) {
  const SymbolSet set({{'a', 'f'}, {'x', 'x'}});
  EXPECT_TRUE(set.Contains('a'));
  EXPECT_TRUE(set.Contains('f'));
  EXPECT_TRUE(set.Contains('x'));
  EXPECT_FALSE(set.Contains('g'));
  EXPECT_FALSE(set.Contains('`'));
  EXPECT_FALSE(SymbolSet().Contains(0));
}

TEST(SymbolSet, UnionAndIntersection) {
  const SymbolSet a({{0, 10}, {20, 30}});
  const SymbolSet b({{5, 22}, {30, 40}});
  EXPECT_EQ(RangesOf(a.Union(b)), (Ranges{{0, 40}}));
  EXPECT_EQ(RangesOf(a.Intersection(b)), (Ranges{{5, 10}, {20, 22}, {30, 30}}));
}

TEST(SymbolSet, TheComplementHasNeitherSurrogatesNorSpecialTokens) {
  EXPECT_EQ(RangesOf(SymbolSet::AllCodePoints()), (Ranges{{0, 0xD7FF}, {0xE000, kLastCodePoint}}));
  EXPECT_EQ(RangesOf(SymbolSet({{0, 9}, {0xD000, 0xE000}}).Complement()),
            (Ranges{{10, 0xCFFF}, {0xE001, kLastCodePoint}}));
  EXPECT_TRUE(SymbolSet::AllCodePoints().Complement().empty());
}

}  // namespace
}  // namespace weft
