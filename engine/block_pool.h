// The accounting of KV blocks: which are free, and how many tables hold each of the others. The
// bytes are the ModelRunner's. Owned and used by the engine thread alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weft {

// A flat array of reference counts; free blocks are chained through it. Invariant: a block is on
// the free list if and only if its count is 0.
class BlockPool {
 public:
  explicit BlockPool(int32_t block_count);

  int32_t total_count() const { return static_cast<int32_t>(entries_.size()); }
  int32_t free_count() const { return free_count_; }
  int32_t used_count() const { return total_count() - free_count_; }
  int32_t reference_count(int32_t block) const;

  // A free block, now with one reference; nullopt if there is none.
  std::optional<int32_t> Allocate();
  void AddReference(int32_t block);
  // The block becomes free with its last reference.
  void Release(int32_t block);

 private:
  struct Entry {
    int32_t reference_count = 0;
    int32_t next_free = kNone;  // meaningful while free
  };
  static constexpr int32_t kNone = -1;

  Entry& Used(int32_t block);

  std::vector<Entry> entries_;
  int32_t first_free_ = kNone;
  int32_t free_count_ = 0;
};

// The bytes of `from` are to be copied over those of `to` before the step that planned it.
struct BlockCopy {
  int32_t from = 0;
  int32_t to = 0;
};

// The blocks of one sequence in the order of its positions; holds one reference on each. The pool
// outlives it.
class BlockTable {
 public:
  explicit BlockTable(BlockPool& pool) : pool_(&pool) {}
  BlockTable(BlockTable&& other) noexcept;
  BlockTable& operator=(BlockTable&& other) noexcept;
  ~BlockTable() { Clear(); }

  std::span<const int32_t> blocks() const { return blocks_; }
  int32_t block_count() const { return static_cast<int32_t>(blocks_.size()); }

  // Appends a block of its own; false, and nothing changed, if none is free.
  [[nodiscard]] bool Grow();
  // A second table over the same blocks.
  BlockTable Share() const;
  // More than one table holds this entry, so that nobody may write into it.
  bool IsShared(int32_t index) const;
  // Puts a new block in the place of a shared one; nullopt, and nothing changed, if none is free.
  [[nodiscard]] std::optional<BlockCopy> Unshare(int32_t index);
  void Clear();

 private:
  BlockPool* pool_;
  std::vector<int32_t> blocks_;
};

}  // namespace weft
