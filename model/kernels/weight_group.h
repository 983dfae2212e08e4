// A group of 32 weights of one output, unpacked: what a file's block is read into, what panels are
// packed from and unpacked to, and, with its format's traits, the definition of what they stand
// for.
#pragma once

#include <cstdint>

#include "model/kernels/packed_matrix.h"

namespace weft {

// Eight consecutive elements' codes, a byte each: element i in bits 8i .. 8i + 7.
using EightCodes = uint64_t;

struct WeightGroup {
  EightCodes codes[4];
  // As PanelScale and PanelMinimum name them: the bytes of a float, or the group's byte, or a byte
  // or float each for k < 16 and k >= 16.
  uint8_t scale[8];
  uint8_t minimum[2];
  // The f16 scales of the group's super-block.
  uint16_t d;
  uint16_t d_minimum;

  uint32_t code(int64_t k) const {
    return static_cast<uint32_t>(codes[k / 8] >> (k % 8 * 8)) & 255;
  }
};

// The 32 weights in float32, by ggml's expressions: the scale times the code, which is exact, and
// the minimum added to it.
void ValuesOf(PanelFormat format, const WeightGroup& group, float* out);

// The same weights, of a format with integer codes, as the int8 arithmetic sees them
// (scalar_int8.cc).
struct Int8Weights {
  int32_t codes[kGroupColumns];  // in order of k, minus the zero point; of a table its entries
  bool has_halves;
  PanelMinimum minimum_kind;
  // Of k < 16 and of k >= 16 where the format has such; otherwise the first is the group's.
  float scales[2];
  float minimums[2];
};
Int8Weights IntegersOf(PanelFormat format, const WeightGroup& group);

// The scale that a MXFP4 block's exponent stands for where codes are doubled: 2^(e - 128). Below e
// = 2 it is a denormal, which counts as zero where ScopedFlushDenormals is held. e = 255 is OCP's
// NaN; here, as in ggml, it is one more power of two, and what overflows is infinite: as with the
// f16 scales of other types, weights are not searched for what no model has.
float HalfScaleMXFP4(uint8_t e);

}  // namespace weft
