// How sequences use what KV blocks already hold. A sequence goes on behind cached blocks instead of
// computing their positions, and what it computes is kept for others, generated tokens included.
// Since a position's K and V depend on the tokens up to it alone (law 2), nobody can tell the
// difference but by the clock. Whole blocks only. Used by the engine thread alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/block_pool.h"
#include "engine/sequence.h"

namespace weft {

class PrefixCache {
 public:
  // `pool` outlives it, and has this block size if it keeps contents; if not, nothing is found.
  PrefixCache(BlockPool& pool, int32_t block_size);

  // The cached blocks that hold what follows the computed positions; at least one position before
  // chunk_end() is left to compute. Valid until the next call.
  std::span<const int32_t> Match(const Sequence& sequence);
  // The positions of these blocks, which Match has just found, are computed.
  void Adopt(Sequence& sequence, std::span<const int32_t> blocks) const;
  // Whether `older`, once it has computed its next block, has computed that of `newer`, too.
  bool ComputesNextBlockOf(const Sequence& older, const Sequence& newer) const;
  // Positions from `first_position` on have been computed: blocks that they fill are kept for
  // others. Where there is one of the same content already, it takes the place of the sequence's.
  void Keep(Sequence& sequence, int32_t first_position);

 private:
  // Whether the sequence may go on behind its block `index`, computed by somebody else.
  bool MayAdopt(const Sequence& sequence, int32_t index) const;
  // What block `index` of the sequence holds when it is full.
  BlockContent ContentOf(const Sequence& sequence, int32_t index, ContentId parent) const;
  // What holds the positions before block `index`.
  ContentId ParentOf(const Sequence& sequence, int32_t index) const;

  BlockPool& pool_;
  const int32_t block_size_;
  std::vector<int32_t> match_;
};

}  // namespace weft
