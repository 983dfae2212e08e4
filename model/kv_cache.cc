#include "model/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "model/kernels/kv_page.h"

namespace weft {
namespace {

int64_t StateBytes(const ModelSpec& spec, int64_t layer) {
  constexpr auto kAlignment = static_cast<int64_t>(AlignedBuffer::kAlignment);
  const int64_t floats = RecurrentFloats(spec, spec.layers[static_cast<size_t>(layer)]);
  return RoundUp(floats * static_cast<int64_t>(sizeof(float)), kAlignment);
}

}  // namespace

Result<void> CheckKvType(const ModelSpec& spec, const KernelTable& kernels,
                         std::optional<KvType> wanted) {
  if (wanted && *wanted != kernels.kv_type) {
    return Fail(ErrorCode::kInvalidArgument,
                "a KV cache in {} does not go with the {} arithmetic, whose cache is in {}",
                NameOf(*wanted), NameOf(kernels.arithmetic), NameOf(kernels.kv_type));
  }
  for (int64_t i = 0; i < CachedLayerCount(spec); ++i) {
    const int64_t key_dim = CachedLayer(spec, i).key_dim;
    if (kernels.kv_type != KvType::kQ8 || key_dim <= kQ8MaxHeadDim) continue;
    return Fail(ErrorCode::kUnsupported,
                "a KV cache in q8 holds heads of at most {} elements; the model's have {}",
                kQ8MaxHeadDim, key_dim);
  }
  return {};
}

KvCache::KvCache(const ModelSpec& spec, const KernelTable& kernels, std::vector<StateGroup> groups,
                 int64_t block_size)
    : groups_(std::move(groups)),
      block_size_(block_size),
      layers_(static_cast<size_t>(CachedLayerCount(spec))) {
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].is_recurrent) continue;
    for (const int32_t layer : groups_[group].layers) {
      layers_[static_cast<size_t>(layer)].group = group;
    }
  }
  int64_t offset = 0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto layer = static_cast<int64_t>(i);
    const AttentionSpec& attention = CachedLayer(spec, layer);
    if (!attention) {
      layers_[i].owns_pages = false;
      continue;
    }
    if (attention.kv_layer != AttentionSpec::kOwnKv) {
      WEFT_CHECK(layers_[i].group == group(attention.kv_layer));
      layers_[i] = of(attention.kv_layer);
      layers_[i].owns_pages = false;
      continue;
    }
    layers_[i].layout = LayoutOf(attention, kernels, block_size);
    const StateGroup& group = groups_[layers_[i].group];
    if (group.SharesPlace(spec, layer)) {
      const Layer& first = of(group.layers.front());
      layers_[i].block_bytes = first.block_bytes;
      layers_[i].offset = first.offset;
      layers_[i].owns_pages = false;
      continue;
    }
    layers_[i].block_bytes = PlaceBytes(spec, group, layer, kernels, block_size);
    layers_[i].offset = offset;
    offset += group.block_count * layers_[i].block_bytes;
  }
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (!groups_[group].is_recurrent) continue;
    state_group_ = group;
    states_.resize(spec.layers.size());
    for (const int32_t layer : groups_[group].layers) {
      LayerState& state = states_[static_cast<size_t>(layer)];
      state = {.block_bytes = StateBytes(spec, layer), .offset = offset};
      offset += groups_[group].block_count * state.block_bytes;
    }
  }
  storage_ = AlignedBuffer(static_cast<size_t>(offset));
}

int64_t KvCache::PlaceBytes(const ModelSpec& spec, const StateGroup& group, int64_t layer,
                            const KernelTable& kernels, int64_t block_size) {
  int64_t bytes = LayerBlockBytes(CachedLayer(spec, layer), kernels, block_size);
  if (layer != group.layers.front()) return bytes;
  for (const int32_t other : group.layers) {
    if (!group.SharesPlace(spec, other)) continue;
    bytes = std::max(bytes, LayerBlockBytes(CachedLayer(spec, other), kernels, block_size));
  }
  return bytes;
}

KvLayout KvCache::LayoutOf(const AttentionSpec& attention, const KernelTable& kernels,
                           int64_t block_size) {
  KvLayout layout = {.block_size = block_size,
                     .key_dim = attention.key_dim,
                     .value_dim = attention.value_dim,
                     .value_in_key = attention.value_in_key};
  layout.page_bytes = kernels.kv_page_bytes(layout);
  return layout;
}

int64_t KvCache::BlockBytes(const ModelSpec& spec, const StateGroup& group,
                            const KernelTable& kernels, int64_t block_size) {
  int64_t total = 0;
  for (const int32_t layer : group.layers) {
    if (group.is_recurrent) total += StateBytes(spec, layer);
    if (group.is_recurrent || group.SharesPlace(spec, layer)) continue;
    total += PlaceBytes(spec, group, layer, kernels, block_size);
  }
  return total;
}

int64_t KvCache::LayerBlockBytes(const AttentionSpec& attention, const KernelTable& kernels,
                                 int64_t block_size) {
  if (attention.kv_layer != AttentionSpec::kOwnKv) return 0;
  return attention.kv_head_count * LayoutOf(attention, kernels, block_size).page_bytes;
}

float* KvCache::State(int64_t layer, int32_t block) {
  const LayerState& state = states_[static_cast<size_t>(layer)];
  return reinterpret_cast<float*>(storage_.data() + state.offset + block * state.block_bytes);
}

std::byte* KvCache::Pages(int64_t layer, int64_t kv_head) {
  return storage_.data() + of(layer).offset + kv_head * of(layer).layout.page_bytes;
}

void KvCache::CopyBlock(size_t group, int32_t from, int32_t to) {
  const int64_t block_count = groups_[group].block_count;
  WEFT_CHECK(from >= 0 && from < block_count && to >= 0 && to < block_count);
  for (const Layer& layer : layers_) {
    if (layer.group != group || !layer.owns_pages) continue;
    std::byte* pages = storage_.data() + layer.offset;
    std::memcpy(pages + to * layer.block_bytes, pages + from * layer.block_bytes,
                static_cast<size_t>(layer.block_bytes));
  }
  if (!groups_[group].is_recurrent) return;
  for (const int32_t layer : groups_[group].layers) {
    std::memcpy(State(layer, to), State(layer, from),
                static_cast<size_t>(states_[static_cast<size_t>(layer)].block_bytes));
  }
}

}  // namespace weft
