// The KV blocks of a sequence in all groups of layers. Owned and used by the engine thread alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/block_pool.h"
#include "model/state.h"

namespace weft {

// A pool for each of the model's groups.
class BlockPools {
 public:
  BlockPools(std::span<const StateGroup> groups, int32_t block_size, bool keeps_contents);
  BlockPools(const BlockPools&) = delete;
  BlockPools& operator=(const BlockPools&) = delete;

  size_t size() const { return pools_.size(); }
  // Groups of a sequence's own positions: all but its source's, which is the last.
  size_t own_count() const { return pools_.size() - (has_source_group() ? 1 : 0); }
  bool has_source_group() const { return groups_.back().is_source; }
  size_t source_group() const { return pools_.size() - 1; }
  // The one group of states, if there is one.
  std::optional<size_t> state_group() const { return state_group_; }
  const StateGroup& group(size_t index) const { return groups_[index]; }
  BlockPool& operator[](size_t index) { return pools_[index]; }
  const BlockPool& operator[](size_t index) const { return pools_[index]; }
  int32_t block_size() const { return block_size_; }
  bool keeps_contents() const { return keeps_contents_; }
  // The first block that a query at `position` sees, in this group.
  int32_t FirstVisibleBlock(size_t group, int32_t position) const {
    return static_cast<int32_t>(groups_[group].FirstVisible(position)) / block_size_;
  }

  // Of all groups together.
  int64_t used_count() const;
  int64_t total_count() const;
  // Of the group in which it is the largest: the share of its blocks that are used.
  double usage() const;

 private:
  const std::vector<StateGroup> groups_;
  const int32_t block_size_;
  const bool keeps_contents_;
  std::optional<size_t> state_group_;
  std::vector<BlockPool> pools_;  // never grows: tables point to them
};

// A BlockTable a group. The pools outlive it. Positions are the sequence's own: of its source's
// blocks alone functions say so that have it in their names.
class SequenceBlocks {
 public:
  explicit SequenceBlocks(BlockPools& pools);

  const BlockTable& of(size_t group) const { return tables_[group]; }
  BlockTable& of(size_t group) { return tables_[group]; }

  // The positions before this one have, or had, their blocks in all groups.
  int32_t covered_count() const;
  // Grows in every group, to blocks for all positions, or where a group forgets, for `ahead_count`
  // of them, of states to one for the last of these; false if a group has no free block: what has
  // been taken stays.
  [[nodiscard]] bool Cover(int32_t position_count, int32_t ahead_count);
  // Blocks of its own for a source; false if there are too few: what has been taken stays.
  [[nodiscard]] bool CoverSource(int32_t source_count);
  // Those that `other` has, in place of none.
  void ShareSource(const SequenceBlocks& other);
  // Makes the block of the next position, behind those that are covered or in the last block, the
  // sequence's own in every group. False if a group has no free block: call it again.
  [[nodiscard]] bool Secure(int32_t position, std::vector<BlockCopy>& copies);
  // The positions covered for a step end here after all: the state behind the last one comes to its
  // place, and nothing lies behind that.
  void EndStateAt(int32_t position_count);
  // Gives back what a query at `position`, and so all later ones, does not see.
  void Forget(int32_t position);
  // The same blocks once more, those of the source among them.
  SequenceBlocks Share() const;
  void Clear();

 private:
  BlockPools* pools_;
  std::vector<BlockTable> tables_;
};

}  // namespace weft
