// How sequences use what KV blocks already hold. A sequence goes on behind cached blocks instead of
// computing their positions, and what it computes is kept for others, generated tokens included.
// Since a position's K and V depend on the tokens up to it alone (law 2), nobody can tell the
// difference but by the clock. Whole blocks only; of a source, on all of which they depend, all
// blocks or none.
//
// Of states, which are large, few are kept: of what a sequence leaves behind the ends of blocks
// those behind which others will want to go on, and the last one. Wanted are
//   * the last one of a prompt, and of a conversation's the last one before its template asks for
//     an answer (SharedCounts), since its next request writes that in its own way, and the last one
//     before its last message,
//   * the one where a prompt parts from another that has been computed, or is being computed: a
//     shared system prompt, an edited message. (What has been computed before is seen by the blocks
//     of groups that keep all; where there are none, names of blocks are kept for it.)
//   * of a long prompt one every StateGroup::state_interval.
//
// Used by the engine thread alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/block_digest.h"
#include "engine/prefix_index.h"
#include "engine/sequence.h"
#include "engine/sequence_blocks.h"

namespace weft {

class PrefixCache {
 public:
  // `pools` outlive it; where they keep no contents, nothing is found.
  explicit PrefixCache(BlockPools& pools);

  // Once, before all else: the names of what its source and positions will hold, which depend on
  // the whole source.
  void NameSource(Sequence& sequence);
  // Whether there is the whole source already.
  bool HasSource(const Sequence& sequence) const;
  // Where there is, and the sequence needs it: it is computed. False: nothing has changed.
  bool AdoptSource(Sequence& sequence);
  // Of the source's blocks, how many it would share with others that run.
  int32_t CountSharedSource(const Sequence& sequence) const;
  // The source has been computed: it is kept for others.
  void KeepSource(Sequence& sequence);

  // How many positions the sequence need not compute: computed_count, or the end of the longest
  // prefix of which there is in every group what the positions behind it see. At least one position
  // before chunk_end() is left to compute. Notes where the groups that keep all have more: a state
  // is wanted there.
  int32_t Match(Sequence& sequence);
  // The positions up to `end`, which Match has just said, are computed.
  void Adopt(Sequence& sequence, int32_t end);
  // Of the blocks up to there, how many the sequence would share with others that run.
  int32_t CountShared(Sequence& sequence, int32_t end, size_t group);
  // Whether `newer` had better wait for `older`, which goes on in this step and computes positions
  // before `end`: it is not behind, and computes what is then there for both. Where there are
  // states that is all that they have in common, and it is to leave one where they part.
  bool ComputesFor(Sequence& older, int32_t end, Sequence& newer);
  // Places for the states that are wanted of the positions before `end`, all that a sequence
  // computes in a step, as far as there are free blocks.
  void CoverStates(Sequence& sequence, int32_t end);
  // Positions from `first_position` on have been computed: blocks that they fill are kept for
  // others. Where there is one of the same content already, it takes the place of the sequence's.
  void Keep(Sequence& sequence, int32_t first_position);
  // The sequence has given back what it does not see: nobody is to find the states that it left
  // where none was wanted, but for the last one.
  void DropPassingStates(Sequence& sequence);

 private:
  // A block that has been computed to its end, in place `index` of the table.
  static void KeepBlock(const BlockDigest& digest, BlockPool& pool, int32_t index,
                        BlockTable& table);
  // Blocks [0, so many) may be found; only those that somebody else has computed matter.
  int32_t MostBlocks(const Sequence& sequence) const;
  // Of what block `index` of the sequence holds when it is full; its tokens are there.
  const BlockDigest& DigestOf(Sequence& sequence, int32_t index);
  bool IsThere(Sequence& sequence, int32_t index, size_t group) {
    return pools_[group].Find(DigestOf(sequence, index)).has_value();
  }
  // Whether a state is to be kept behind this block of the sequence.
  bool IsStateWanted(const Sequence& sequence, int32_t index) const;
  // Of their first blocks, how many will be the same; as far as `newer` may find them.
  int32_t CountCommonBlocks(Sequence& older, Sequence& newer);
  // The first block that Adopt takes in this group, if the sequence goes on behind block `end`.
  int32_t FirstNeeded(const Sequence& sequence, int32_t end, size_t group) const;
  // How many blocks, from the first one that is not computed on, are there in all groups that keep
  // all; `end` at most.
  int32_t EndOfChain(Sequence& sequence, int32_t end);
  // How many have been computed by anybody, as far as is known; `end` at most. There are states,
  // and `chain` is EndOfChain.
  int32_t EndOfComputed(Sequence& sequence, int32_t end, int32_t chain);
  // A block that has been computed to its end, where no group keeps all.
  void NoteComputed(const BlockDigest& digest);
  // The largest end, `end` at most, before which this group, which forgets, has what is needed.
  // `there`: those from it to `end` are known to be; updated.
  int32_t EndWithin(Sequence& sequence, int32_t end, size_t group, int32_t& there);

  BlockPools& pools_;
  const bool has_chain_;  // a group that keeps all
  BlockHasher hasher_;
  // Of what was computed last, where there are states and no group keeps all: in a ring.
  std::optional<PrefixIndex> computed_;
  int32_t next_computed_ = 0;
  std::vector<int32_t> there_;  // of Match, a group
};

}  // namespace weft
