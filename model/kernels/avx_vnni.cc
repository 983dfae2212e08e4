// For AVX2 with AVX-VNNI (processors without AVX-512): the int8 arithmetic's products, and
// attention over an 8-bit cache; the rest of its tables is avx2.cc's.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include "model/kernels/isa_functions.h"
#include "model/kernels/kv_page.h"
#include "model/kernels/panel_layout.h"
#include "model/kernels/peak_loops.h"

namespace weft::avx_vnni {
namespace {

[[gnu::always_inline]] inline __m256i AddPairs(__m256i sum, __m256i a, __m256i b) {
  return _mm256_dpwssd_epi32(sum, a, b);
}
[[gnu::always_inline]] inline __m256i AddQuads(__m256i sum, __m256i codes, __m256i x) {
  return _mm256_dpbusd_epi32(sum, codes, x);
}

#include "model/kernels/avx_vnni.inc"

float RunInt8Peak(int64_t round_count) {
  constexpr int kChains = 12;
  __m256i sums[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) sums[i] = _mm256_set1_epi32(i);  // or they would be one
  const __m256i quad = _mm256_set1_epi8(3);
  const __m256i codes = _mm256_set1_epi8(-5);
  for (int64_t round = 0; round < round_count; ++round) {
#pragma GCC unroll 8
    for (int repeat = 0; repeat < 8; ++repeat) {
#pragma GCC unroll 12
      for (auto& sum : sums) sum = AddQuads(sum, quad, codes);
    }
  }
#pragma GCC unroll 12
  for (int i = 1; i < kChains; ++i) sums[0] = _mm256_add_epi32(sums[0], sums[i]);
  return _mm256_cvtss_f32(_mm256_cvtepi32_ps(sums[0]));
}

}  // namespace

constexpr PeakLoop kInt8Peak = {"AVX-VNNI", int64_t{8} * 12 * 32 * 2, RunInt8Peak};

void MatmulInt8(const MatmulTask& task, const std::byte* panel) { MultiplyInt8(task, panel); }

void AttentionQ8(const AttentionTask& task) { Attention<KvQ8>(task); }
void AttendSpansQ8(const AttentionTask& task, int64_t first_span, int64_t span_count,
                   float* partials) {
  AttendSpans<KvQ8>(task, first_span, span_count, partials);
}

}  // namespace weft::avx_vnni
