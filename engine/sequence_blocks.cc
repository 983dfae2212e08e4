#include "engine/sequence_blocks.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/checked_math.h"

namespace weft {

BlockPools::BlockPools(std::span<const StateGroup> groups, int32_t block_size, bool keeps_contents)
    : groups_(groups.begin(), groups.end()),
      block_size_(block_size),
      keeps_contents_(keeps_contents) {
  pools_.reserve(groups_.size());
  for (const StateGroup& group : groups_) {
    if (group.is_recurrent) state_group_ = pools_.size();
    pools_.emplace_back(static_cast<int32_t>(group.block_count), keeps_contents);
  }
}

int64_t BlockPools::used_count() const {
  int64_t count = 0;
  for (const BlockPool& pool : pools_) count += pool.used_count();
  return count;
}

int64_t BlockPools::total_count() const {
  int64_t count = 0;
  for (const BlockPool& pool : pools_) count += pool.total_count();
  return count;
}

double BlockPools::usage() const {
  double usage = 0;
  for (const BlockPool& pool : pools_) {
    usage = std::max(usage, static_cast<double>(pool.used_count()) / pool.total_count());
  }
  return usage;
}

SequenceBlocks::SequenceBlocks(BlockPools& pools) : pools_(&pools) {
  tables_.reserve(pools.size());
  for (size_t group = 0; group < pools.size(); ++group) tables_.emplace_back(pools[group]);
}

int32_t SequenceBlocks::covered_count() const {
  int32_t block_count = std::numeric_limits<int32_t>::max();
  for (size_t group = 0; group < pools_->own_count(); ++group) {
    block_count = std::min(block_count, tables_[group].block_count());
  }
  return block_count * pools_->block_size();
}

bool SequenceBlocks::Cover(int32_t position_count, int32_t ahead_count) {
  for (size_t group = 0; group < pools_->own_count(); ++group) {
    if (pools_->state_group() == group) {
      if (!tables_[group].Fill((ahead_count - 1) / pools_->block_size())) return false;
      continue;
    }
    const int32_t end = pools_->group(group).forgets() ? ahead_count : position_count;
    while (tables_[group].block_count() < CeilDivide(end, pools_->block_size())) {
      if (!tables_[group].Grow()) return false;
    }
  }
  return true;
}

bool SequenceBlocks::CoverSource(int32_t source_count) {
  BlockTable& table = tables_[pools_->source_group()];
  while (table.block_count() < CeilDivide(source_count, pools_->block_size())) {
    if (!table.Grow()) return false;
  }
  return true;
}

void SequenceBlocks::ShareSource(const SequenceBlocks& other) {
  const size_t group = pools_->source_group();
  tables_[group] = other.tables_[group].Share();
}

bool SequenceBlocks::Secure(int32_t position, std::vector<BlockCopy>& copies) {
  const int32_t index = position / pools_->block_size();
  for (size_t group = 0; group < pools_->own_count(); ++group) {
    BlockTable& table = tables_[group];
    if (index == table.block_count()) {
      if (!table.Grow()) return false;
    } else if (table.IsShared(index)) {
      std::optional<BlockCopy> copy = table.Unshare(index);
      if (!copy) return false;
      copy->group = group;
      copies.push_back(*copy);
    }
  }
  return true;
}

void SequenceBlocks::EndStateAt(int32_t position_count) {
  const std::optional<size_t> group = pools_->state_group();
  if (!group) return;
  const int32_t block_size = pools_->block_size();
  tables_[*group].EndBehind(CeilDivide(position_count, block_size) - 1);
}

void SequenceBlocks::Forget(int32_t position) {
  for (size_t group = 0; group < pools_->own_count(); ++group) {
    tables_[group].ReleaseBefore(pools_->FirstVisibleBlock(group, position));
  }
}

SequenceBlocks SequenceBlocks::Share() const {
  SequenceBlocks blocks(*pools_);
  for (size_t group = 0; group < tables_.size(); ++group) {
    blocks.tables_[group] = tables_[group].Share();
  }
  return blocks;
}

void SequenceBlocks::Clear() {
  for (BlockTable& table : tables_) table.Clear();
}

}  // namespace weft
