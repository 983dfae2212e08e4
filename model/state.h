// What a sequence keeps between steps: the keys and values of its positions, in groups of layers
// that need them equally long. Each group has KV blocks of its own, so that layers with a window
// hold no more than they see. Plain data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/checked_math.h"
#include "model/kernels/kernels.h"
#include "model/spec.h"

namespace weft {

// What has keys and values in the cache, in this order: the attention of each layer; of an
// encoder-decoder then the cross-attention of each layer, and the attention of each layer of its
// encoder. StateGroup and KvCache number them so.
inline int64_t CachedLayerCount(const ModelSpec& spec) {
  return spec.encoder ? 2 * spec.layer_count() + spec.encoder->layer_count() : spec.layer_count();
}
inline int64_t FirstCrossLayer(const ModelSpec& spec) { return spec.layer_count(); }
inline int64_t FirstEncoderLayer(const ModelSpec& spec) { return 2 * spec.layer_count(); }
const AttentionSpec& CachedLayer(const ModelSpec& spec, int64_t index);

// The state of fixed size that a layer keeps of a sequence, in floats; 0: it has none.
int64_t RecurrentFloats(const ModelSpec& spec, const LayerSpec& layer);

// Layers that see the same positions.
struct StateGroup {
  // Of layers whose state has a fixed size: a block holds it as it was after the last position that
  // has been computed of those that the block stands for. Blocks are then found, shared, copied and
  // given back like others: a position sees the one before it, and so its window is 2. But a table
  // has holes: a step leaves a state behind the blocks that have a place in it, its last position's
  // among them.
  bool is_recurrent = false;
  int64_t window = 0;                // AttentionSpec::window, and
  int64_t chunk = 0;                 // AttentionSpec::chunk; without both the group keeps all
  std::vector<int32_t> layers = {};  // CachedLayer's, or those that have a state; ascending
  // Of an encoder: the layers write over each other's keys and values, so that a block has room for
  // those of one.
  bool is_scratch = false;
  // Of an encoder-decoder: the positions are those of a sequence's source, and the layers its
  // cross-attentions, then its encoder's layers, which while they compute the source write over
  // each other in the place of the first cross-attention.
  bool is_source = false;
  int64_t block_count = 0;  // KV blocks that there are; 0: not decided yet
  // Recurrent: a long prompt leaves a state behind every so many positions; 0: nowhere but where
  // others are known to go on.
  int64_t state_interval = 0;

  // Whether the layer has no place in a block, but writes over what the group's first one has.
  bool SharesPlace(const ModelSpec& spec, int64_t layer) const {
    if (layer == layers.front()) return false;
    return is_scratch || (is_source && layer >= FirstEncoderLayer(spec));
  }
  // Whether positions are seen for a while only.
  bool forgets() const { return window > 0 || chunk > 0; }
  // The first position that a query at `position` sees, and so will all later ones.
  int64_t FirstVisible(int64_t position) const {
    return weft::FirstVisible(position, window, chunk);
  }
  // The most blocks that a sequence of `position_count` positions holds at a time, where a step
  // computes at most `max_rows` of them.
  int64_t MostBlocks(int64_t position_count, int64_t max_rows, int64_t block_size) const {
    const int64_t all = CeilDivide(position_count, block_size);
    if (!forgets()) return all;
    if (is_recurrent) return std::min<int64_t>(all, 2);  // before the step and behind it
    const int64_t visible =
        window == 0 || chunk == 0 ? std::max(window, chunk) : std::min(window, chunk);
    // They may begin and end in the middle of a block.
    return std::min(all, CeilDivide(visible + max_rows, block_size) + 1);
  }
};

// The groups of all layers of a model that serves sequences of at most `context` positions: a
// window or chunk that is no shorter is none. The group that keeps all, if there is one, comes
// first, that of states behind those with windows, that of the source last. A layer that reads an
// earlier one's keys and values is in that one's group. Of an encoder there is one group, whatever
// its layers see: a text is there from its first to its last position anyway.
std::vector<StateGroup> StateGroupsOf(const ModelSpec& spec, int64_t context);

}  // namespace weft
