// The matrix products and the attention of AMX over tiles in software, for tests on processors
// without it. They need what amx.cc needs but the tiles: HasSoftwareAmx().
#pragma once

#include "model/kernels/kernels.h"

namespace weft::software_amx {

// As namespace amx has them, but on tiles however few rows there are.
void MatmulBF16(const MatmulTask& task, const std::byte* panel);
void MatmulInt8(const MatmulTask& task, const std::byte* panel);
int64_t AttentionScratchBytes(const KvLayout& layout, int64_t query_rows);
void AttentionBF16(const AttentionTask& task);
void AttendSpansBF16(const AttentionTask& task, int64_t first_span, int64_t span_count,
                     float* partials);

// sums[m][n] += products of `m` rows of `k` words and `k` rows of `n` words, 32 bits each, that
// hold pairs of bf16 or quads of int8: one instruction.
void MultiplyBF16(int64_t m, int64_t n, int64_t k, const void* rows, const void* weights,
                  float* sums);
void MultiplyInt8(int64_t m, int64_t n, int64_t k, const void* rows, const void* weights,
                  int32_t* sums);

inline bool HasSoftwareAmx() {
  const CpuFeatures cpu = DetectCpu();
  return cpu.avx512_vnni && cpu.avx512_bf16;
}

using Matmul = void (*)(const MatmulTask& task, const std::byte* panel);

// With weights of f16, of which tiles have no products, AVX-512's.
template <Matmul kIntegers, Matmul kOthers>
void MultiplyByLayout(const MatmulTask& task) {
  const PanelFormat layout = task.weights->layout;
  if (layout == PanelFormat::kF16) return KernelsFor(Arithmetic::kBF16, Isa::kAvx512).matmul(task);
  Matmul matmul = kOthers;
  if (HasIntegerCodes(layout)) matmul = kIntegers;
  matmul(task, task.weights->panel(task.first_panel));
}

// AVX-512's table with these products, where tiles have any, and, over bf16, this attention.
inline KernelTable SoftwareAmxTable(Arithmetic arithmetic) {
  KernelTable table = KernelsFor(arithmetic, Isa::kAvx512);
  table.isa = Isa::kAmx;
  table.name = "software amx";
  table.attention_scratch_bytes = AttentionScratchBytes;
  table.attention = AttentionBF16;
  table.attend_spans = AttendSpansBF16;
  if (arithmetic == Arithmetic::kBF16) table.matmul = MultiplyByLayout<MatmulBF16, MatmulBF16>;
  if (arithmetic == Arithmetic::kInt8) table.matmul = MultiplyByLayout<MatmulInt8, MatmulBF16>;
  return table;
}

}  // namespace weft::software_amx
