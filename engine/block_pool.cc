#include "engine/block_pool.h"

#include <utility>

#include "base/check.h"

namespace weft {

BlockPool::BlockPool(int32_t block_count) : free_count_(block_count) {
  WEFT_CHECK(block_count > 0);
  entries_.resize(static_cast<size_t>(block_count));
  for (int32_t block = 0; block + 1 < block_count; ++block)
    entries_[static_cast<size_t>(block)].next_free = block + 1;
  first_free_ = 0;
}

int32_t BlockPool::reference_count(int32_t block) const {
  WEFT_CHECK(block >= 0 && block < total_count());
  return entries_[static_cast<size_t>(block)].reference_count;
}

BlockPool::Entry& BlockPool::Used(int32_t block) {
  WEFT_CHECK(reference_count(block) > 0);
  return entries_[static_cast<size_t>(block)];
}

std::optional<int32_t> BlockPool::Allocate() {
  if (first_free_ == kNone) return std::nullopt;
  const int32_t block = first_free_;
  Entry& entry = entries_[static_cast<size_t>(block)];
  first_free_ = std::exchange(entry.next_free, kNone);
  entry.reference_count = 1;
  --free_count_;
  return block;
}

void BlockPool::AddReference(int32_t block) { ++Used(block).reference_count; }

void BlockPool::Release(int32_t block) {
  Entry& entry = Used(block);
  if (--entry.reference_count > 0) return;
  entry.next_free = std::exchange(first_free_, block);
  ++free_count_;
}

BlockTable::BlockTable(BlockTable&& other) noexcept
    : pool_(other.pool_), blocks_(std::exchange(other.blocks_, {})) {}

BlockTable& BlockTable::operator=(BlockTable&& other) noexcept {
  if (this == &other) return *this;
  Clear();
  pool_ = other.pool_;
  blocks_ = std::exchange(other.blocks_, {});
  return *this;
}

bool BlockTable::Grow() {
  blocks_.reserve(blocks_.size() + 1);  // so that a block cannot be lost to std::bad_alloc
  const std::optional<int32_t> block = pool_->Allocate();
  if (!block) return false;
  blocks_.push_back(*block);
  return true;
}

BlockTable BlockTable::Share() const {
  BlockTable table(*pool_);
  table.blocks_ = blocks_;
  for (const int32_t block : table.blocks_) pool_->AddReference(block);
  return table;
}

bool BlockTable::IsShared(int32_t index) const {
  return pool_->reference_count(blocks_[static_cast<size_t>(index)]) > 1;
}

std::optional<BlockCopy> BlockTable::Unshare(int32_t index) {
  WEFT_CHECK(IsShared(index));
  const std::optional<int32_t> block = pool_->Allocate();
  if (!block) return std::nullopt;
  const int32_t shared = std::exchange(blocks_[static_cast<size_t>(index)], *block);
  pool_->Release(shared);
  return BlockCopy{.from = shared, .to = *block};
}

void BlockTable::Clear() {
  for (const int32_t block : blocks_) pool_->Release(block);
  blocks_.clear();
}

}  // namespace weft
