#include "engine/block_pool.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weft {

BlockPool::BlockPool(int32_t block_count, bool keeps_contents) {
  WEFT_CHECK(block_count > 0);
  entries_.resize(static_cast<size_t>(block_count));
  if (keeps_contents) contents_.emplace(block_count);
  for (int32_t block = 0; block < block_count; ++block) Link(block, last_free_, kNone);
}

int64_t BlockPool::BytesPerBlock() {
  return static_cast<int64_t>(sizeof(Entry)) + PrefixIndex::BytesPerBlock();
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
  if (content(block) != nullptr) contents_->Erase(block);
  EntryOf(block).reference_count = 1;
  EntryOf(block).is_wanted = false;
  return block;
}

void BlockPool::AddReference(int32_t block) {
  WEFT_CHECK(reference_count(block) > 0 || content(block) != nullptr);
  if (EntryOf(block).reference_count++ == 0) Unlink(block);
}

void BlockPool::Release(int32_t block) {
  WEFT_CHECK(reference_count(block) > 0);
  if (--EntryOf(block).reference_count > 0) return;
  if (content(block) == nullptr) {
    Link(block, kNone, first_free_);
  } else {
    Link(block, last_free_, kNone);
  }
}

std::optional<int32_t> BlockPool::Find(const BlockDigest& digest) const {
  return contents_ ? contents_->Find(digest) : std::nullopt;
}

void BlockPool::SetContent(int32_t block, const BlockDigest& digest) {
  WEFT_CHECK(reference_count(block) > 0);
  contents_.value().Insert(block, digest);
}

void BlockPool::DropContent(int32_t block) {
  WEFT_CHECK(reference_count(block) == 0);
  Unlink(block);
  contents_.value().Erase(block);
  Link(block, kNone, first_free_);
}

BlockTable::BlockTable(BlockTable&& other) noexcept
    : pool_(other.pool_),
      blocks_(std::exchange(other.blocks_, {})),
      gone_count_(std::exchange(other.gone_count_, 0)),
      held_count_(std::exchange(other.held_count_, 0)) {}

BlockTable& BlockTable::operator=(BlockTable&& other) noexcept {
  if (this == &other) return *this;
  Clear();
  pool_ = other.pool_;
  blocks_ = std::exchange(other.blocks_, {});
  gone_count_ = std::exchange(other.gone_count_, 0);
  held_count_ = std::exchange(other.held_count_, 0);
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
  ++held_count_;
  return true;
}

bool BlockTable::Fill(int32_t index) {
  WEFT_CHECK(index >= gone_count_);
  const auto place = static_cast<size_t>(index);
  if (index < block_count() && blocks_[place] != kNoBlock) return true;
  blocks_.reserve(place + 1);  // so that a block cannot be lost to std::bad_alloc
  const std::optional<int32_t> block = pool_->Allocate();
  if (!block) return false;
  blocks_.resize(std::max(blocks_.size(), place + 1), kNoBlock);
  blocks_[place] = *block;
  ++held_count_;
  return true;
}

void BlockTable::EndBehind(int32_t index) {
  WEFT_CHECK(index + 1 >= gone_count_);
  if (index + 1 >= block_count()) return;
  if (index >= gone_count_ && blocks_[static_cast<size_t>(index)] == kNoBlock) {
    std::swap(blocks_[static_cast<size_t>(index)], blocks_.back());
  }
  for (; block_count() > index + 1; blocks_.pop_back()) Drop(blocks_.back());
}

void BlockTable::Drop(int32_t& place) {
  if (place == kNoBlock) return;
  pool_->Release(std::exchange(place, kNoBlock));
  --held_count_;
}

void BlockTable::Adopt(int32_t index, int32_t block) {
  WEFT_CHECK(index >= gone_count_ && index <= block_count());
  if (index == block_count()) {
    ReserveOneMore();
    pool_->AddReference(block);
    blocks_.push_back(block);
    ++held_count_;
    return;
  }
  pool_->AddReference(block);
  int32_t& place = blocks_[static_cast<size_t>(index)];
  Drop(place);
  place = block;
  ++held_count_;
}

void BlockTable::ReleaseBefore(int32_t index) {
  if (index > block_count()) blocks_.resize(static_cast<size_t>(index), kNoBlock);
  for (; gone_count_ < index; ++gone_count_) Drop(blocks_[static_cast<size_t>(gone_count_)]);
}

BlockTable BlockTable::Share() const {
  BlockTable table(*pool_);
  table.blocks_ = blocks_;
  table.gone_count_ = gone_count_;
  table.held_count_ = held_count_;
  for (const int32_t block : blocks_) {
    if (block != kNoBlock) pool_->AddReference(block);
  }
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
  return BlockCopy{.group = 0, .from = shared, .to = *block};
}

void BlockTable::Clear() {
  for (; !blocks_.empty(); blocks_.pop_back()) Drop(blocks_.back());
  gone_count_ = 0;
}

}  // namespace weft
