#include "engine/block_pool.h"

#include <utility>

#include "base/check.h"

namespace weft {

BlockPool::BlockPool(int32_t block_count, int32_t block_size) {
  WEFT_CHECK(block_count > 0);
  entries_.resize(static_cast<size_t>(block_count));
  if (block_size > 0) contents_.emplace(block_count, block_size);
  for (int32_t block = 0; block < block_count; ++block) Link(block, last_free_, kNone);
}

int64_t BlockPool::BytesPerBlock(int64_t block_size) {
  return static_cast<int64_t>(sizeof(Entry)) + PrefixIndex::BytesPerBlock(block_size);
}

int32_t BlockPool::reference_count(int32_t block) const {
  WEFT_CHECK(block >= 0 && block < total_count());
  return entries_[static_cast<size_t>(block)].reference_count;
}

void BlockPool::Link(int32_t block, int32_t previous, int32_t next) {
  Entry& entry = EntryOf(block);
  entry.previous_free = previous;
  entry.next_free = next;
  LinkTo(previous) = block;
  LinkBackTo(next) = block;
  ++free_count_;
}

void BlockPool::Unlink(int32_t block) {
  const Entry& entry = EntryOf(block);
  LinkTo(entry.previous_free) = entry.next_free;
  LinkBackTo(entry.next_free) = entry.previous_free;
  --free_count_;
}

std::optional<int32_t> BlockPool::Allocate() {
  if (first_free_ == kNone) return std::nullopt;
  const int32_t block = first_free_;
  Unlink(block);
  if (content_id(block) != kNoContent) contents_->Erase(block);
  EntryOf(block).reference_count = 1;
  return block;
}

void BlockPool::AddReference(int32_t block) {
  WEFT_CHECK(reference_count(block) > 0 || content_id(block) != kNoContent);
  if (EntryOf(block).reference_count++ == 0) Unlink(block);
}

void BlockPool::Release(int32_t block) {
  WEFT_CHECK(reference_count(block) > 0);
  if (--EntryOf(block).reference_count > 0) return;
  if (content_id(block) == kNoContent) {
    Link(block, kNone, first_free_);
  } else {
    Link(block, last_free_, kNone);
  }
}

std::optional<int32_t> BlockPool::Find(const BlockContent& content) const {
  return contents_ ? contents_->Find(content) : std::nullopt;
}

void BlockPool::SetContent(int32_t block, const BlockContent& content) {
  WEFT_CHECK(reference_count(block) > 0);
  contents_.value().Insert(block, content);
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

void BlockTable::ReserveOneMore() {
  if (blocks_.size() == blocks_.capacity()) blocks_.reserve(2 * blocks_.size() + 1);
}

bool BlockTable::Grow() {
  ReserveOneMore();
  const std::optional<int32_t> block = pool_->Allocate();
  if (!block) return false;
  blocks_.push_back(*block);
  return true;
}

void BlockTable::Adopt(int32_t index, int32_t block) {
  WEFT_CHECK(index >= 0 && index <= block_count());
  if (index == block_count()) {
    ReserveOneMore();
    pool_->AddReference(block);
    blocks_.push_back(block);
    return;
  }
  pool_->AddReference(block);
  pool_->Release(std::exchange(blocks_[static_cast<size_t>(index)], block));
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
  for (; !blocks_.empty(); blocks_.pop_back()) pool_->Release(blocks_.back());
}

}  // namespace weft
