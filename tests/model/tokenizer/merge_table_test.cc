// Byte-pair merging against the plainest possible implementation.
#include "model/tokenizer/merge_table.h"

#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

using Rules = std::map<std::pair<TokenId, TokenId>, MergeRule>;

// Looks at every pair before every merge.
std::vector<TokenId> MergeNaively(const Rules& rules, std::vector<TokenId> symbols) {
  for (;;) {
    const MergeRule* best = nullptr;
    size_t position = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto rule = rules.find({symbols[i], symbols[i + 1]});
      if (rule != rules.end() && (best == nullptr || rule->second.rank < best->rank)) {
        best = &rule->second;
        position = i;
      }
    }
    if (best == nullptr) return symbols;
    symbols[position] = best->result;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(position) + 1);
  }
}

MergeTable TableOf(const Rules& rules) {
  MergeTable table;
  for (const auto& [pair, rule] : rules) table.Insert(pair.first, pair.second, rule);
  return table;
}

TEST(MergeTableTest, FindsWhatWasInsertedAndNothingElse) {
  MergeTable table;
  for (TokenId left = 0; left < 60; ++left) {
    for (TokenId right = 0; right < 60; right += 2) {
      table.Insert(left, right, {static_cast<uint32_t>(left), right});
    }
  }
  table.Insert(1, 2, {99, 5});  // again: replaces
  EXPECT_EQ(table.rule_count(), 60u * 30u);
  for (TokenId left = 0; left < 60; ++left) {
    for (TokenId right = 0; right < 60; ++right) {
      const MergeRule* rule = table.Find(left, right);
      ASSERT_EQ(rule != nullptr, right % 2 == 0) << left << " " << right;
      if (rule == nullptr || (left == 1 && right == 2)) continue;
      EXPECT_EQ(rule->rank, static_cast<uint32_t>(left));
      EXPECT_EQ(rule->result, right);
    }
  }
  EXPECT_EQ(table.Find(1, 2)->rank, 99u);
}

// Lengths on both sides of where the heap takes over; few symbols and shared ranks, so that ties
// and outdated candidates abound.
TEST(ApplyMergesTest, AgreesWithTheNaiveMergeOnRandomRules) {
  std::mt19937 random(11);
  MergeScratch scratch;
  for (int round = 0; round < 400; ++round) {
    Rules rules;
    const uint32_t rank_count = 1 + random() % 40;
    TokenId next_symbol = 4;
    for (int i = 0; i < 40; ++i) {
      const auto left = static_cast<TokenId>(random() % static_cast<uint32_t>(next_symbol));
      const auto right = static_cast<TokenId>(random() % static_cast<uint32_t>(next_symbol));
      rules[{left, right}] = {static_cast<uint32_t>(random() % rank_count), next_symbol++};
    }
    const MergeTable table = TableOf(rules);
    for (const size_t length : {0u, 1u, 2u, 3u, 10u, 23u, 24u, 25u, 26u, 60u, 200u}) {
      std::vector<TokenId> symbols(length);
      for (TokenId& symbol : symbols) symbol = static_cast<TokenId>(random() % 5) - 1;
      const std::vector<TokenId> expected = MergeNaively(rules, symbols);
      ApplyMerges(table, &symbols, &scratch);
      ASSERT_EQ(symbols, expected) << "round " << round << ", length " << length;
    }
  }
}

TEST(ApplyMergesTest, AMillionEqualSymbolsMergeInPairs) {
  MergeTable table;
  for (TokenId i = 0; i < 10; ++i) table.Insert(i, i, {static_cast<uint32_t>(i), i + 1});
  std::vector<TokenId> symbols(1 << 20, 0);
  MergeScratch scratch;
  ApplyMerges(table, &symbols, &scratch);
  EXPECT_EQ(symbols, std::vector<TokenId>(1 << 10, 10));
}

}  // namespace
}  // namespace weft
