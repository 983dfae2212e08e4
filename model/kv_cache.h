// The bytes of all KV blocks. Who owns which block is the engine's business.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "model/kernels/kernels.h"
#include "model/spec.h"
#include "model/state.h"

namespace weft {

// Whether these kernels' cache is what was asked for (nullopt: whatever it is) and can hold this
// model's heads.
Result<void> CheckKvType(const ModelSpec& spec, const KernelTable& kernels,
                         std::optional<KvType> wanted);

// Logical axes (layer, block, kv head, slot, element of the key or value), layers being those of
// CachedLayer; the order inside a page is the kernel's. Blocks are their group's, which has a
// number of its own of them. Layers may differ in heads, and one may read what an earlier one
// wrote; those of an encoder lie in the same place. Written and read by the engine thread and its
// compute workers only.
class KvCache {
 public:
  // `groups` are the model's (StateGroupsOf), with the number of their blocks. Throws
  // std::bad_alloc. Memory is touched on first use of a block.
  KvCache(const ModelSpec& spec, const KernelTable& kernels, std::vector<StateGroup> groups,
          int64_t block_size);

  static KvLayout LayoutOf(const AttentionSpec& attention, const KernelTable& kernels,
                           int64_t block_size);
  // Of all of a group's layers, and of one's attention.
  static int64_t BlockBytes(const ModelSpec& spec, const StateGroup& group,
                            const KernelTable& kernels, int64_t block_size);
  static int64_t LayerBlockBytes(const AttentionSpec& attention, const KernelTable& kernels,
                                 int64_t block_size);

  std::span<const StateGroup> groups() const { return groups_; }
  int64_t block_size() const { return block_size_; }
  // The group whose blocks hold the layer's keys and values.
  size_t group(int64_t layer) const { return of(layer).group; }
  const KvLayout& layout(int64_t layer) const { return of(layer).layout; }
  // First page of a layer and kv head; block b's is page_stride_bytes(layer) * b further.
  std::byte* Pages(int64_t layer, int64_t kv_head);
  int64_t page_stride_bytes(int64_t layer) const { return of(layer).block_bytes; }
  // The group whose blocks hold the layers' states.
  size_t state_group() const { return state_group_; }
  // The state of a layer that has one: RecurrentFloats of them.
  float* State(int64_t layer, int32_t block);
  // Copies all layers of one of the group's blocks over another: copy on write.
  void CopyBlock(size_t group, int32_t from, int32_t to);

 private:
  struct Layer {
    KvLayout layout;
    size_t group = 0;         // of groups_
    int64_t block_bytes = 0;  // pages of all kv heads
    int64_t offset = 0;       // in storage_, of block 0
    bool owns_pages = true;   // or they are an earlier layer's, too
  };
  struct LayerState {
    int64_t block_bytes = 0;
    int64_t offset = 0;  // in storage_, of block 0
  };
  // What a block has for this layer's attention, and for those that write over it.
  static int64_t PlaceBytes(const ModelSpec& spec, const StateGroup& group, int64_t layer,
                            const KernelTable& kernels, int64_t block_size);
  const Layer& of(int64_t layer) const { return layers_[static_cast<size_t>(layer)]; }

  std::vector<StateGroup> groups_;
  int64_t block_size_;
  std::vector<Layer> layers_;
  size_t state_group_ = 0;
  std::vector<LayerState> states_;  // a layer; empty: no layer has a state
  AlignedBuffer storage_;
};

}  // namespace weft
