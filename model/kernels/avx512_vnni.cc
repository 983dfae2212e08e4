// For AVX-512 with VNNI: the int8 arithmetic's products, and attention over an 8-bit cache; the
// rest of its tables is avx512.cc's.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include "model/kernels/isa_functions.h"
#include "model/kernels/kv_page.h"
#include "model/kernels/panel_layout.h"
#include "model/kernels/peak_loops.h"

namespace weft::avx512_vnni {
namespace {

// In this order: each needs what is above it.
// clang-format off
#include "model/kernels/vector_avx512.inc"
#include "model/kernels/generic_lanes.inc"
#include "model/kernels/generic_prefetch.inc"
#include "model/kernels/generic_panel_scales.inc"
#include "model/kernels/generic_walk.inc"
#include "model/kernels/vnni_int8.inc"
#include "model/kernels/generic_exp.inc"
#include "model/kernels/generic_spans.inc"
#include "model/kernels/generic_kv_common.inc"
#include "model/kernels/generic_kv_q8.inc"
#include "model/kernels/generic_attention.inc"
// clang-format on

float RunInt8Peak(int64_t round_count) {
  constexpr int kChains = 16;
  __m512i sums[kChains];
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_epi32(i);  // or they would be one
  const __m512i quad = _mm512_set1_epi8(3);
  const __m512i codes = _mm512_set1_epi8(-5);
  for (int64_t round = 0; round < round_count; ++round) {
#pragma GCC unroll 8
    for (int repeat = 0; repeat < 8; ++repeat) {
#pragma GCC unroll 16
      for (auto& sum : sums) sum = _mm512_dpbusd_epi32(sum, quad, codes);
    }
  }
#pragma GCC unroll 16
  for (int i = 1; i < kChains; ++i) sums[0] = _mm512_add_epi32(sums[0], sums[i]);
  return _mm512_cvtss_f32(_mm512_cvtepi32_ps(sums[0]));
}

}  // namespace

constexpr PeakLoop kInt8Peak = {"AVX-512 VNNI", int64_t{8} * 16 * 64 * 2, RunInt8Peak};

void MatmulInt8(const MatmulTask& task, const std::byte* panel) { MultiplyInt8(task, panel); }
void AddResidualsInt8(const MatmulTask& task, const std::byte* panel) { AddResiduals(task, panel); }

void AttentionQ8(const AttentionTask& task) { Attention<KvQ8>(task); }
void AttendSpansQ8(const AttentionTask& task, int64_t first_span, int64_t span_count,
                   float* partials) {
  AttendSpans<KvQ8>(task, first_span, span_count, partials);
}

}  // namespace weft::avx512_vnni
