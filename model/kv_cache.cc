#include "model/kv_cache.h"

#include <cstring>

#include "base/check.h"
#include "model/kernels/kv_page.h"

namespace weft {
namespace {

KvLayout LayoutOf(const ModelConfig& config, const KernelTable& kernels, int64_t block_size) {
  return {.block_size = block_size,
          .head_dim = config.head_dim,
          .page_bytes = kernels.kv_page_bytes(block_size, config.head_dim)};
}

}  // namespace

Result<void> CheckKvType(const ModelConfig& config, const KernelTable& kernels,
                         std::optional<KvType> wanted) {
  if (wanted && *wanted != kernels.kv_type) {
    return Fail(ErrorCode::kInvalidArgument,
                "a KV cache in {} does not go with the {} arithmetic, whose cache is in {}",
                NameOf(*wanted), NameOf(kernels.arithmetic), NameOf(kernels.kv_type));
  }
  if (kernels.kv_type == KvType::kQ8 && config.head_dim > kQ8MaxHeadDim) {
    return Fail(ErrorCode::kUnsupported,
                "a KV cache in q8 holds heads of at most {} elements; the model's have {}",
                kQ8MaxHeadDim, config.head_dim);
  }
  return {};
}

KvCache::KvCache(const ModelConfig& config, const KernelTable& kernels, int64_t block_count,
                 int64_t block_size)
    : layout_(LayoutOf(config, kernels, block_size)),
      layer_count_(config.layer_count),
      kv_head_count_(config.kv_head_count),
      block_count_(block_count),
      storage_(static_cast<size_t>(block_count * BlockBytes(config, kernels, block_size))) {}

int64_t KvCache::BlockBytes(const ModelConfig& config, const KernelTable& kernels,
                            int64_t block_size) {
  return config.layer_count * config.kv_head_count *
         LayoutOf(config, kernels, block_size).page_bytes;
}

std::byte* KvCache::Pages(int64_t layer, int64_t kv_head) {
  return storage_.data() + layer * block_count_ * page_stride_bytes() +
         kv_head * layout_.page_bytes;
}

void KvCache::CopyBlock(int32_t from, int32_t to) {
  WEFT_CHECK(from >= 0 && from < block_count_ && to >= 0 && to < block_count_);
  for (int64_t layer = 0; layer < layer_count_; ++layer) {
    std::byte* pages = Pages(layer, 0);
    std::memcpy(pages + to * page_stride_bytes(), pages + from * page_stride_bytes(),
                static_cast<size_t>(page_stride_bytes()));
  }
}

}  // namespace weft
