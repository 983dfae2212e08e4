// The heart of byte-pair encoding: which adjacent pairs of symbols merge, in which order, into
// what.
#pragma once

#include <cstdint>
#include <vector>

#include "model/tensor.h"

namespace weft {

// A rule of a vocabulary: pairs of lower rank merge first; among equal ranks the leftmost pair.
struct MergeRule {
  uint32_t rank = 0;
  TokenId result = 0;
};

// (left, right) -> rule. An open-addressed table; filled once, then read by any thread.
class MergeTable {
 public:
  explicit MergeTable(size_t expected_rules = 0);

  // Ids must be >= 0. A later rule for the same pair replaces the earlier one.
  void Insert(TokenId left, TokenId right, MergeRule rule);
  // nullptr if the pair does not merge.
  const MergeRule* Find(TokenId left, TokenId right) const {
    const Slot& slot = slots_[SlotOf(Key(left, right))];
    return slot.key == kEmpty ? nullptr : &slot.rule;
  }
  size_t rule_count() const { return rule_count_; }

 private:
  struct Slot {
    uint64_t key = kEmpty;
    MergeRule rule;
  };
  static constexpr uint64_t kEmpty = ~uint64_t{0};

  static uint64_t Key(TokenId left, TokenId right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  // The slot that holds `key`, or the empty one where it would go.
  size_t SlotOf(uint64_t key) const {
    size_t index = static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> shift_);
    while (slots_[index].key != key && slots_[index].key != kEmpty) {
      index = (index + 1) & (slots_.size() - 1);
    }
    return index;
  }
  void Grow();

  std::vector<Slot> slots_;  // a power of two, at most half full
  int shift_ = 0;            // 64 - log2(slots_.size())
  size_t rule_count_ = 0;
};

// Buffers of ApplyMerges, kept from piece to piece by one caller.
struct MergeScratch {
  struct Candidate {
    uint32_t rank;
    uint32_t position;  // of the left symbol
    TokenId left;
    TokenId right;
    TokenId result;
  };
  std::vector<Candidate> heap;
  std::vector<uint32_t> previous;
  std::vector<uint32_t> next;
};

// Merges `symbols` in place until no rule applies: always the pair of the lowest rank, of those the
// leftmost. O(n log n). At most 2^31 symbols. Negative ids (characters outside the vocabulary)
// never merge.
void ApplyMerges(const MergeTable& table, std::vector<TokenId>* symbols, MergeScratch* scratch);

}  // namespace weft
