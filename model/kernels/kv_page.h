// Where keys and values lie in a page of the KV cache: in the order in which a dot product eats
// them, 16 neighbouring lanes at a time.
//
// bf16:   keys    [key_dim / 2][block_size][2] bf16: lanes are slots, pairs run along key_dim
//   values  [block_size / 2][ValueColumns][2] bf16: lanes are elements of the head, pairs run along
//   slots
// q8: the same with codes of 8 bits, and one float32 scale a slot after each of the two.
//
// With KvLayout::value_in_key there are no values, and a value's scale is its key's.
#pragma once

#include <cstdint>
#include <limits>

#include "model/kernels/kernels.h"

namespace weft {

// `static`: every translation unit has its own, so that none leaks from one instruction set to
// another. Elements of a value's row: value_dim rounded up to whole registers.
static constexpr int64_t ValueColumns(int64_t value_dim) { return (value_dim + 15) / 16 * 16; }
// Bytes of a page's keys, which come first.
static constexpr int64_t KeyBytes(int64_t block_size, int64_t key_dim) {
  return block_size * key_dim * 2;
}
static constexpr int64_t KvPageBytesBF16(const KvLayout& layout) {
  const int64_t key_bytes = KeyBytes(layout.block_size, layout.key_dim);
  if (layout.value_in_key) return key_bytes;
  return key_bytes + layout.block_size * ValueColumns(layout.value_dim) * 2;
}

// Codes of keys and values are at most this, those of queries and of probability * value scale,
// which they are multiplied with, at most that: sums of key_dim products fit 32 bits.
static constexpr float kQ8Limit = 127;
static constexpr float kQ8FactorLimit = 8191;
static constexpr int64_t kQ8MaxHeadDim = 2048;
// A key's codes share one scale, which a few channels that are many times larger than the others
// would take for themselves. So keys are rotated before they are coded, and queries likewise, which
// changes no dot product: blocks of so many elements by the Hadamard matrix, which spreads each
// element over its block (QuaRot: Ashkboos et al., 2024, arXiv:2404.00456). Its entries are 1 and
// -1, so that a dot product of two rotated vectors is as many times too large. Keys that hold their
// values stay as they are.
static constexpr int64_t RotationBlock(const KvLayout& layout) {
  return layout.value_in_key ? 1 : layout.key_dim & -layout.key_dim;
}
// How numbers whose largest magnitude has the bits `largest` become codes up to `limit`: rounded x
// * inverse, to nearest even, each standing for code * scale. With inverse 0 all codes are 0: where
// there is nothing but zeros and what is as good as that, or (scale NaN) something is not finite.
struct CodeScale {
  float scale;
  float inverse;
};
static inline CodeScale ScaleOfCodes(int32_t largest, float limit) {
  if (largest >= 0x7f800000) return {std::numeric_limits<float>::quiet_NaN(), 0};
  float magnitude;
  __builtin_memcpy(&magnitude, &largest, 4);
  if (magnitude < kSmallestInt8Magnitude) return {0, 0};
  return {magnitude / limit, limit / magnitude};
}
// Offsets in a page, in bytes.
struct PageQ8 {
  int64_t key_scales;
  int64_t values;
  int64_t value_scales;
  int64_t end;
};
static constexpr PageQ8 LayoutQ8(const KvLayout& layout) {
  const int64_t block_size = layout.block_size;
  const int64_t key_scales = block_size * layout.key_dim;
  const int64_t values = key_scales + block_size * 4;
  if (layout.value_in_key) return {key_scales, values, /*value_scales=*/key_scales, values};
  const int64_t value_scales = values + block_size * ValueColumns(layout.value_dim);
  return {key_scales, values, value_scales, value_scales + block_size * 4};
}

// What attention knows after some spans, one query row: the largest score, the sum of probabilities
// relative to it, and from kPartialOutput on ValueColumns elements of output, not divided by the
// sum.
static constexpr int64_t kPartialMaximum = 0;
static constexpr int64_t kPartialSum = 1;
static constexpr int64_t kPartialOutput = 16;
static constexpr int64_t AttentionPartialFloats(int64_t value_dim) {
  return kPartialOutput + ValueColumns(value_dim);
}

}  // namespace weft
