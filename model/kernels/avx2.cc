// The bf16, bf16pair and int8 arithmetics for AVX2 with FMA and F16C.
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
#include "model/kernels/dot_avx2.inc"
#include "model/kernels/generic_int8_unpack.inc"
#include "model/kernels/generic_int8.inc"
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

// Products of 4-bit codes as dot_avx2.inc adds them up: four in 16 bits, then in 32.
float RunInt8Peak(int64_t round_count) {
  constexpr int kChains = 6;
  Dot::Ints sums[kChains];
  for (auto& sum : sums) sum = _mm256_setzero_si256();
  Dot::Ints quad = _mm256_set1_epi8(3);
  const Dot::Ints codes = _mm256_set1_epi8(-5);
  const Dot::Ints ones = _mm256_set1_epi16(1);
  for (int64_t round = 0; round < round_count; ++round) {
#pragma GCC unroll 6
    for (auto& sum : sums) {
      Dot::Ints products[4];
#pragma GCC unroll 4
      for (auto& product : products) {
        asm volatile("" : "+x"(quad));  // or the product would be computed once
        product = _mm256_maddubs_epi16(quad, codes);
      }
      const Dot::Ints pairs = _mm256_add_epi16(_mm256_add_epi16(products[0], products[1]),
                                               _mm256_add_epi16(products[2], products[3]));
      sum = Dot::Add(sum, _mm256_madd_epi16(pairs, ones));
    }
  }
  for (int i = 1; i < kChains; ++i) sums[0] = Dot::Add(sums[0], sums[i]);
  return _mm256_cvtss_f32(Dot::ToFloats(sums[0]));
}

}  // namespace

constexpr PeakLoop kFloatPeak = {"AVX2 FMA", kFloatPeakOperations<6>, RunFloatPeak<6>};
constexpr PeakLoop kInt8Peak = {"AVX2 maddubs", int64_t{6} * 4 * 32 * 2, RunInt8Peak};
constexpr IsaFunctions kFunctions = kGenericFunctions;
constexpr IsaFunctions kFunctionsWithVnni = WithVnni(kFunctions);

void MatmulInt8(const MatmulTask& task, const std::byte* panel) { MultiplyInt8(task, panel); }
void MatmulBF16Pair(const MatmulTask& task, const std::byte* panel) { MultiplyPairs(task, panel); }

}  // namespace weft::avx2
