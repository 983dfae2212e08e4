// The bf16, bf16pair and int8 arithmetics for AVX2 with FMA and F16C.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include "model/kernels/isa_functions.h"
#include "model/kernels/kv_page.h"
#include "model/kernels/panel_layout.h"
#include "model/kernels/peak_loops.h"

namespace weft::avx2 {
namespace {

// In this order: each needs what is above it.
// clang-format off
#include "model/kernels/vector_avx2.inc"
#include "model/kernels/generic_lanes.inc"
#include "model/kernels/generic_exp.inc"
#include "model/kernels/generic_activations.inc"
#include "model/kernels/generic_rows.inc"
#include "model/kernels/generic_recurrence.inc"
#include "model/kernels/generic_prefetch.inc"
#include "model/kernels/generic_panel_scales.inc"
#include "model/kernels/generic_walk.inc"
#include "model/kernels/tile_f32.inc"
#include "model/kernels/generic_bf16_unpack.inc"
#include "model/kernels/generic_bf16.inc"
#include "model/kernels/generic_pair.inc"
#include "model/kernels/avx2_int8.inc"
#include "model/kernels/avx2_int8_few.inc"
#include "model/kernels/generic_spans.inc"
#include "model/kernels/generic_kv_common.inc"
#include "model/kernels/generic_kv_bf16.inc"
#include "model/kernels/generic_kv_q8.inc"
#include "model/kernels/generic_attention.inc"
#include "model/kernels/generic_functions.inc"
#include "model/kernels/generic_peak.inc"
// clang-format on

constexpr IsaFunctions WithVnni(IsaFunctions functions) {
  functions.kv_q8.attention = avx_vnni::AttentionQ8;
  functions.kv_q8.attend_spans = avx_vnni::AttendSpansQ8;
  return functions;
}

// Products of 4-bit codes as avx2_int8.inc adds them up: eight in 16 bits, then in 32.
float RunInt8Peak(int64_t round_count) {
  constexpr int kChains = 6;
  __m256i sums[kChains];
  for (auto& sum : sums) sum = _mm256_setzero_si256();
  __m256i quad = _mm256_set1_epi8(3);
  const __m256i codes = _mm256_set1_epi8(-5);
  const __m256i ones = _mm256_set1_epi16(1);
  for (int64_t round = 0; round < round_count; ++round) {
#pragma GCC unroll 6
    for (auto& sum : sums) {
      __m256i pairs = _mm256_maddubs_epi16(quad, codes);
#pragma GCC unroll 7
      for (int i = 1; i < 8; ++i) {
        asm volatile("" : "+x"(quad));  // or the product would be computed once
        pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(quad, codes));
      }
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
    }
  }
  for (int i = 1; i < kChains; ++i) sums[0] = _mm256_add_epi32(sums[0], sums[i]);
  return _mm256_cvtss_f32(_mm256_cvtepi32_ps(sums[0]));
}

}  // namespace

constexpr PeakLoop kFloatPeak = {"AVX2 FMA", kFloatPeakOperations<6>, RunFloatPeak<6>};
constexpr PeakLoop kInt8Peak = {"AVX2 maddubs", int64_t{6} * 8 * 32 * 2, RunInt8Peak};
constexpr IsaFunctions kFunctions = kGenericFunctions;
constexpr IsaFunctions kFunctionsWithVnni = WithVnni(kFunctions);

void MatmulInt8(const MatmulTask& task, const std::byte* panel) { MultiplyInt8(task, panel); }
void MatmulBF16Pair(const MatmulTask& task, const std::byte* panel) { MultiplyPairs(task, panel); }

}  // namespace weft::avx2
