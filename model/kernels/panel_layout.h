// Where things lie in a panel (16 outputs) of a PackedMatrix, for every format. One layout serves
// both the bf16 and the int8 arithmetic.
//
// A panel is a row of blocks; a block is 8 groups (the last one may have fewer); a group is 32 k of
// all 16 outputs ("lanes"). A block holds its groups' codes first, one group after the other, then
// their high bits, their scales, their minimums, and a trailer: so that codes begin on cache lines
// and the whole panel is read as one stream.
//
// The 32 codes of a lane's group fall into 8 quads of 4, each a byte of a 32-bit word: element k is
// byte ByteOf(k) of quad QuadOf(k). Int8 dot products eat a quad at a time, with activations in the
// same order; and a shift and a mask with 0x000f000f of a word of 4-bit codes leave a pair (even k,
// odd k), AMX's bf16 operand order.
//
// A plane of n bits (1, 2, 4, 8) is word [n][16 lanes]; word w holds the quads from 8 / n * w on:
// of byte j of the t-th of these the bits from 8j + n * t. Codes of 2, 4 and 8 bits are a plane;
// of 3, 5 and 6 bits a plane of 2 or 4 low ones and, as the high bits, one of the rest. Fields of a
// group:
//
//   kBF16     codes [16 pairs][16 lanes][2] bf16; pair p is (k = 2p, k = 2p + 1)
//   kF16      codes [32 k][16 lanes] f16
//   others    codes, and high bits if there are
//
//   PanelScale      scale                              trailer
//   kHalf           [16] f16
//   kBFloat         [16] bf16
//   kFloat          [16] float32
//   kExponent       [16] uint8
//   kSuperBlock                                        d [16] f16, dmin [16] f16 or padding
//   kBytes          [16] int8                          likewise
//   kHalvesBytes    [2][16] int8, k < 16 and k >= 16   likewise
//   kHalvesNibbles  [2][16] uint8                      likewise
//   kHalvesE4M3     [2][16] uint8
//   kHalvesFloat    [2][16] float32
//
//   PanelMinimum    minimum
//   kHalf           [16] f16
//   kBFloat         [16] bf16
//   kZeroPoint      [16] uint8
//   kBytes          [16] uint8
//
// That is the file's size for MXFP4, NVFP4, Q2_K, Q4_0 .. Q8_0 and IQ4_NL, and up to 1.06 times it
// for other types but those whose codes are of fewer bits in the file than any plane, TQ1_0 and
// those of grids: packing_test.cc has the bits of each.
#pragma once

#include <cstdint>

#include "model/kernels/panel_format.h"

namespace weft {

static constexpr int QuadOf(int64_t k) { return static_cast<int>(k / 8 * 2 + k / 2 % 2); }
static constexpr int ByteOf(int64_t k) { return static_cast<int>(k % 2 * 2 + k / 4 % 2); }

struct PanelLayout {
  // Bytes of a group's fields.
  int64_t codes;
  int64_t high;
  int64_t scale;
  int64_t minimum;
  // Bytes of a block's trailer; blocks that have one are always whole.
  int64_t trailer;

  constexpr int64_t group_bytes() const { return codes + high + scale + minimum; }
};

static constexpr int64_t kBlockGroups = 8;

// Bits of a code that lie in its low plane.
static constexpr int LowBitsOf(const PanelTraits& traits) {
  return traits.code_bits == 8 ? 8 : traits.code_bits < 4 ? 2 : 4;
}

static constexpr PanelLayout LayoutOf(const PanelTraits& traits) {
  constexpr int64_t kPlane = 64;  // bytes of a plane of one bit
  constexpr int64_t kScale[] = {32, 32, 64, 16, 0, 16, 32, 32, 32, 128};
  constexpr int64_t kMinimum[] = {0, 32, 32, 16, 16, 0};
  const int64_t low_bits = LowBitsOf(traits);
  return {kPlane * low_bits, kPlane * (traits.code_bits - low_bits),
          kScale[static_cast<int>(traits.scale)], kMinimum[static_cast<int>(traits.minimum)],
          HasSuperBlock(traits) ? 64 : 0};
}
// kBF16 and kF16.
static constexpr PanelLayout kPanelOf16Bits = {1024, 0, 0, 0, 0};
static constexpr PanelLayout LayoutOf(PanelFormat format) {
  return IsQuantized(format) ? LayoutOf(TraitsOf(format)) : kPanelOf16Bits;
}

static constexpr int64_t PanelBytes(const PanelLayout& layout, int64_t group_count) {
  return group_count * layout.group_bytes() + group_count / kBlockGroups * layout.trailer;
}

// Offsets in a panel of `group_count` groups of the fields of one group, and of its block's
// trailer.
struct GroupFields {
  int64_t codes;
  int64_t high;
  int64_t scale;
  int64_t minimum;
  int64_t trailer;
};

static constexpr GroupFields FieldsOf(const PanelLayout& layout, int64_t group,
                                      int64_t group_count) {
  const int64_t first = group / kBlockGroups * kBlockGroups;
  const int64_t in_block = group - first;
  const int64_t left = group_count - first;
  const int64_t groups = left < kBlockGroups ? left : kBlockGroups;
  const int64_t codes = PanelBytes(layout, first);
  const int64_t high = codes + groups * layout.codes;
  const int64_t scale = high + groups * layout.high;
  const int64_t minimum = scale + groups * layout.scale;
  return {codes + in_block * layout.codes, high + in_block * layout.high,
          scale + in_block * layout.scale, minimum + in_block * layout.minimum,
          minimum + groups * layout.minimum};
}

}  // namespace weft
