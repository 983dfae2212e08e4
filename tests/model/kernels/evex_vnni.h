// What the AVX-VNNI translation unit computes, with AVX-512's encoding of the same instructions:
// for tests on processors that have these and not those, as all with AVX-512 VNNI may.
#pragma once

#include "model/kernels/kernels.h"

namespace weft::evex_vnni {

// As namespace avx_vnni has them.
void MatmulInt8(const MatmulTask& task, const std::byte* panel);
void AttentionQ8(const AttentionTask& task);
void AttendSpansQ8(const AttentionTask& task, int64_t first_span, int64_t span_count,
                   float* partials);

inline bool HasEvexVnni() { return DetectCpu().avx512_vnni; }

// AVX2's table of the int8 arithmetic with these products, and over an 8-bit cache this attention.
inline KernelTable EvexVnniTable(KvType kv_type = KvType::kBF16) {
  KernelTable table = KernelsFor(Arithmetic::kInt8, Isa::kAvx2, kv_type);
  table.name = "avx2 with VNNI";
  table.matmul = [](const MatmulTask& task) {
    if (!HasIntegerCodes(task.weights->layout)) {
      return KernelsFor(Arithmetic::kInt8, Isa::kAvx2).matmul(task);
    }
    MatmulInt8(task, task.weights->panel(task.first_panel));
  };
  if (kv_type == KvType::kQ8) {
    table.attention = AttentionQ8;
    table.attend_spans = AttendSpansQ8;
  }
  return table;
}

}  // namespace weft::evex_vnni
