// Which KV blocks hold what. Exact: a block is found by its tokens, by what the blocks before it
// hold and by whose it is, all of which are compared; a hash only says where to look. Owned by the
// BlockPool, used by the engine thread alone; everything is allocated at construction.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/tensor.h"

namespace weft {

// Whose a content is: requests find what has their own salt alone. A digest of what a client chose;
// all zeros: everybody's who chose nothing.
using CacheSalt = std::array<uint8_t, 32>;

// Names a content that was put into the index. Counted up and never used again, so that what came
// after an evicted block is not taken for what comes after its successor in the same memory.
using ContentId = uint64_t;
constexpr ContentId kNoContent = 0;

// K and V of as many positions as a block has. They depend on the tokens of these positions and of
// all before them, and on nothing else: TokenPhase is not part of it because no definition of the
// arithmetic tells phases apart.
struct BlockContent {
  ContentId parent = kNoContent;  // of the block before it; kNoContent: it begins a sequence
  CacheSalt salt{};
  std::span<const TokenId> tokens;
};

class PrefixIndex {
 public:
  // `bucket_count` is a power of two; 0: enough for so many blocks.
  PrefixIndex(int32_t block_count, int32_t block_size, uint32_t bucket_count = 0);

  // What it takes for each block.
  static int64_t BytesPerBlock(int64_t block_size);

  // The block with this content, if there is one.
  std::optional<int32_t> Find(const BlockContent& content) const;
  // The block has no content yet, and this content no block.
  void Insert(int32_t block, const BlockContent& content);
  // The block has content.
  void Erase(int32_t block);

  // kNoContent: the block is not in the index.
  ContentId id(int32_t block) const { return EntryOf(block).id; }
  // Of a block in the index; valid until it is erased.
  BlockContent content(int32_t block) const;

 private:
  static constexpr int32_t kNone = -1;
  struct Entry {
    ContentId id = kNoContent;
    ContentId parent = kNoContent;
    CacheSalt salt{};
    uint32_t bucket = 0;
    int32_t next_in_bucket = kNone;
  };

  const Entry& EntryOf(int32_t block) const { return entries_[static_cast<size_t>(block)]; }
  Entry& EntryOf(int32_t block) { return entries_[static_cast<size_t>(block)]; }
  std::span<const TokenId> TokensOf(int32_t block) const;
  uint32_t BucketOf(const BlockContent& content) const;

  const size_t block_size_;
  std::vector<Entry> entries_;    // one a block
  std::vector<TokenId> tokens_;   // block_size a block
  std::vector<int32_t> buckets_;  // the first block of each
  std::array<uint64_t, 2> hash_key_;
  ContentId last_id_ = kNoContent;
};

}  // namespace weft
