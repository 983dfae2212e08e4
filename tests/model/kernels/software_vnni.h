// What the AVX-VNNI translation unit computes, with its instructions in software: for tests on
// processors without it. They need what avx2.cc needs: HasSoftwareVnni().
#pragma once

#include "model/kernels/kernels.h"

namespace weft::software_vnni {

// As namespace avx_vnni has them.
void MatmulInt8(const MatmulTask& task, const std::byte* panel);
void AttentionQ8(const AttentionTask& task);
void AttendSpansQ8(const AttentionTask& task, int64_t first_span, int64_t span_count,
                   float* partials);

inline bool HasSoftwareVnni() { return DetectCpu().avx2_fma; }

// AVX2's table of the int8 arithmetic with these products, and over an 8-bit cache this attention.
inline KernelTable SoftwareVnniTable(KvType kv_type = KvType::kBF16) {
  KernelTable table = KernelsFor(Arithmetic::kInt8, Isa::kAvx2, kv_type);
  table.name = "software avx2 with VNNI";
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

}  // namespace weft::software_vnni
