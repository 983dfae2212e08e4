// The accounting of KV blocks: which are free, how many tables hold each of the others, and what is
// in those that have been computed to their end. The bytes are the ModelRunner's. Owned and used by
// the engine thread alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/prefix_index.h"
#include "model/forward_batch.h"

namespace weft {

// A flat array of reference counts; free blocks are chained through it. Invariant: a block is on
// the free list if and only if its count is 0. A free block keeps its content, and can be used
// again, until it is allocated for something else. On the list those without content come first,
// the last one released at the front; then the others, the first one released at the front.
class BlockPool {
 public:
  explicit BlockPool(int32_t block_count, bool keeps_contents = false);

  // What it takes for each block, contents included.
  static int64_t BytesPerBlock();

  int32_t total_count() const { return static_cast<int32_t>(entries_.size()); }
  int32_t free_count() const { return free_count_; }
  int32_t used_count() const { return total_count() - free_count_; }
  int32_t reference_count(int32_t block) const;

  // The first block on the free list, now with one reference and no content; nullopt if none is
  // free.
  std::optional<int32_t> Allocate();
  // The block is used, or has content.
  void AddReference(int32_t block);
  // The block becomes free with its last reference.
  void Release(int32_t block);

  // The block with this content, used or free; nullopt if there is none.
  std::optional<int32_t> Find(const BlockDigest& digest) const;
  // From now on this used block has this content, which no other has, and is never written again
  // before it is allocated anew. Contents are kept.
  void SetContent(int32_t block, const BlockDigest& digest);
  // Whether somebody will look for what the block holds, or has found it there: until it is
  // allocated anew.
  bool is_wanted(int32_t block) const { return entries_[static_cast<size_t>(block)].is_wanted; }
  void MarkWanted(int32_t block) { EntryOf(block).is_wanted = true; }
  // Nobody will look for what this free block holds: it loses its content, and is used first.
  void DropContent(int32_t block);
  // What the block holds; nullptr: it has no content.
  const BlockDigest* content(int32_t block) const {
    return contents_ ? contents_->digest(block) : nullptr;
  }

 private:
  static constexpr int32_t kNone = -1;
  struct Entry {
    int32_t reference_count = 0;
    bool is_wanted = false;
    int32_t previous_free = kNone;  // meaningful while free, both
    int32_t next_free = kNone;
  };

  Entry& EntryOf(int32_t block) { return entries_[static_cast<size_t>(block)]; }
  // The places that point to `block` from before and from behind.
  int32_t& LinkTo(int32_t previous) {
    return previous == kNone ? first_free_ : EntryOf(previous).next_free;
  }
  int32_t& LinkBackTo(int32_t next) {
    return next == kNone ? last_free_ : EntryOf(next).previous_free;
  }
  void Link(int32_t block, int32_t previous, int32_t next);
  void Unlink(int32_t block);

  std::vector<Entry> entries_;
  std::optional<PrefixIndex> contents_;
  int32_t first_free_ = kNone;
  int32_t last_free_ = kNone;
  int32_t free_count_ = 0;
};

// The bytes of `from` are to be copied over those of `to`, of the same group, before the step that
// planned it.
struct BlockCopy {
  size_t group = 0;
  int32_t from = 0;
  int32_t to = 0;
};

// The blocks of one sequence in the order of its positions; holds one reference on each. Those of
// its first positions may be gone for good: kNoBlock. So may others be, where a group keeps states:
// places are filled where a state is to be kept. The pool outlives it.
class BlockTable {
 public:
  explicit BlockTable(BlockPool& pool) : pool_(&pool) {}
  BlockTable(BlockTable&& other) noexcept;
  BlockTable& operator=(BlockTable&& other) noexcept;
  ~BlockTable() { Clear(); }

  std::span<const int32_t> blocks() const { return blocks_; }
  int32_t block_count() const { return static_cast<int32_t>(blocks_.size()); }
  // Places that have a block.
  int32_t held_count() const { return held_count_; }

  // Appends a block of its own; false, and nothing changed, if none is free.
  [[nodiscard]] bool Grow();
  // The same in a place that has none, to which the table grows; true, if it has one.
  [[nodiscard]] bool Fill(int32_t index);
  // The table ends behind this place, to which its last block comes, if there is none; those behind
  // it are given back.
  void EndBehind(int32_t index);
  // Puts a block with content in the place of its own, or behind the last one.
  void Adopt(int32_t index, int32_t block);
  // The blocks before this one are gone from now on, also those that it never had. Those released
  // first are the first to be used for something else.
  void ReleaseBefore(int32_t index);
  // A second table over the same blocks.
  BlockTable Share() const;
  // More than one table holds this entry, so that nobody may write into it.
  bool IsShared(int32_t index) const;
  // Puts a new block in the place of a shared one; nullopt, and nothing changed, if none is free.
  [[nodiscard]] std::optional<BlockCopy> Unshare(int32_t index);
  // The last one first: nobody looks for what has lost what comes before it.
  void Clear();

 private:
  // So that a block cannot be lost to std::bad_alloc.
  void ReserveOneMore();
  // Gives back what is in one place, if there is something.
  void Drop(int32_t& place);

  BlockPool* pool_;
  std::vector<int32_t> blocks_;
  int32_t gone_count_ = 0;  // first places that nothing comes to any more
  int32_t held_count_ = 0;
};

}  // namespace weft
