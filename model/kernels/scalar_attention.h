// The definition of attention over bf16 and 8-bit caches; see scalar_attention.cc.
#pragma once

#include "model/kernels/kernels.h"

namespace weft::scalar {

int64_t AttentionScratchBytes(const KvLayout& layout, int64_t query_rows);
void WriteBF16(const KvLayout& layout, std::byte* page, int64_t slot, const float* key,
               const float* value);
void AttentionBF16(const AttentionTask& task);
void WriteQ8(const KvLayout& layout, std::byte* page, int64_t slot, const float* key,
             const float* value);
void AttentionQ8(const AttentionTask& task);

}  // namespace weft::scalar
