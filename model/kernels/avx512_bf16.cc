// The bf16pair arithmetic's products for AVX-512 with BF16: vdpbf16ps adds a pair's products to
// sixteen sums as the arithmetic is defined. The rest of its tables is avx512.cc's.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include "model/kernels/isa_functions.h"
#include "model/kernels/panel_layout.h"
#include "model/kernels/peak_loops.h"

namespace weft::avx512_bf16 {
namespace {

// In this order: each needs what is above it.
// clang-format off
#include "model/kernels/vector_avx512.inc"
#include "model/kernels/generic_lanes.inc"
#include "model/kernels/generic_prefetch.inc"
#include "model/kernels/generic_panel_scales.inc"
#include "model/kernels/tile_bf16.inc"
#include "model/kernels/generic_bf16_unpack.inc"
#include "model/kernels/pair_walk.inc"
// clang-format on

float RunPairPeak(int64_t round_count) {
  constexpr int kChains = 16;
  F sums[kChains];
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) sums[i] = Set(static_cast<float>(i));  // or they would be one
  const I x = SetInt(0x3f003f00);
  const I weights = SetInt(0x3f803e80);
  for (int64_t round = 0; round < round_count; ++round) {
#pragma GCC unroll 8
    for (int repeat = 0; repeat < 8; ++repeat) {
#pragma GCC unroll 16
      for (F& sum : sums) sum = AddPair(sum, weights, x);
    }
  }
#pragma GCC unroll 16
  for (int i = 1; i < kChains; ++i) sums[0] = Add(sums[0], sums[i]);
  return Fold(sums[0]);
}

}  // namespace

constexpr PeakLoop kPairPeak = {"AVX-512 BF16", int64_t{8} * 16 * 16 * 4, RunPairPeak};

void MatmulBF16Pair(const MatmulTask& task, const std::byte* panel) { MultiplyPairs(task, panel); }

}  // namespace weft::avx512_bf16
