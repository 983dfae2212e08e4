// The bytes of all KV blocks. Who owns which block is the engine's business.
#pragma once

#include <cstdint>
#include <optional>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "model/config.h"
#include "model/kernels/kernels.h"

namespace weft {

// Whether these kernels' cache is what was asked for (nullopt: whatever it is) and can hold this
// model's heads.
Result<void> CheckKvType(const ModelConfig& config, const KernelTable& kernels,
                         std::optional<KvType> wanted);

// Logical axes (layer, block, kv head, slot, head_dim); the order inside a page is the kernel's.
// Written and read by the engine thread and its compute workers only.
class KvCache {
 public:
  // Throws std::bad_alloc. Memory is touched on first use of a block.
  KvCache(const ModelConfig& config, const KernelTable& kernels, int64_t block_count,
          int64_t block_size);

  static int64_t BlockBytes(const ModelConfig& config, const KernelTable& kernels,
                            int64_t block_size);

  int64_t block_count() const { return block_count_; }
  int64_t block_size() const { return layout_.block_size; }
  const KvLayout& layout() const { return layout_; }
  // First page of a layer and kv head; block b's is page_stride_bytes() * b further.
  std::byte* Pages(int64_t layer, int64_t kv_head);
  int64_t page_stride_bytes() const { return layout_.page_bytes * kv_head_count_; }
  // Copies all layers of one block over another: copy on write.
  void CopyBlock(int32_t from, int32_t to);

 private:
  KvLayout layout_;
  int64_t layer_count_;
  int64_t kv_head_count_;
  int64_t block_count_;
  AlignedBuffer storage_;
};

}  // namespace weft
