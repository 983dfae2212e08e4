#include "model/kernels/weight_group.h"

#include <bit>
#include <cstring>

#include "model/formats/dequantize.h"
#include "model/kernels/panel_format.h"

namespace weft {
namespace {

float HalfOf(const uint8_t (&bytes)[2]) {
  uint16_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return HalfToFloat(bits);
}

int32_t SignedByte(uint32_t byte) { return static_cast<int8_t>(byte); }

int32_t IntegerOf(const PanelTraits& traits, uint32_t code) {
  if (traits.table != nullptr) return traits.table[code];
  if (traits.code_bits == 8) return SignedByte(code);
  return static_cast<int32_t>(code) - traits.zero_point;
}

// What both halves of the codes are multiplied with, but for their own scales.
float CommonScale(const PanelTraits& traits, const WeightGroup& group) {
  switch (traits.scale) {
    case PanelScale::kHalf:
      return HalfOf(group.scale);
    case PanelScale::kExponent:
      return HalfScaleMXFP4(group.scale[0]);
    case PanelScale::kBytes:
      return HalfToFloat(group.d) * static_cast<float>(SignedByte(group.scale[0]));
    case PanelScale::kHalvesBytes:
      break;
  }
  return HalfToFloat(group.d);
}

float HalfScale(const PanelTraits& traits, const WeightGroup& group, int64_t half) {
  if (!HasHalves(traits)) return 1;
  return static_cast<float>(SignedByte(group.scale[half]));
}

float MinimumOf(const PanelTraits& traits, const WeightGroup& group) {
  switch (traits.minimum) {
    case PanelMinimum::kNone:
      break;
    case PanelMinimum::kHalf:
      return HalfOf(group.minimum);
    case PanelMinimum::kBytes:
      return -(HalfToFloat(group.d_minimum) * static_cast<float>(group.minimum[0]));
  }
  return 0;
}

}  // namespace

float HalfScaleMXFP4(uint8_t e) {
  return std::bit_cast<float>(e < 2 ? uint32_t{0x00200000} << e : (e - uint32_t{1}) << 23);
}

void ValuesOf(PanelFormat format, const WeightGroup& group, float* out) {
  const PanelTraits& traits = TraitsOf(format);
  const float common = CommonScale(traits, group);
  const float minimum = MinimumOf(traits, group);
  for (int64_t k = 0; k < kGroupColumns; ++k) {
    const float scale = HasHalves(traits) ? common * HalfScale(traits, group, k / 16) : common;
    const float value = static_cast<float>(IntegerOf(traits, group.code(k))) * scale;
    out[k] = traits.minimum == PanelMinimum::kNone ? value : value + minimum;
  }
}

Int8Weights IntegersOf(PanelFormat format, const WeightGroup& group) {
  const PanelTraits& traits = TraitsOf(format);
  Int8Weights weights = {};
  for (int64_t k = 0; k < kGroupColumns; ++k) {
    weights.codes[k] = IntegerOf(traits, group.code(k));
  }
  for (int64_t half = 0; half < 2; ++half) {
    weights.half_scale[half] = HalfScale(traits, group, half);
  }
  weights.scale = CommonScale(traits, group);
  weights.has_minimum = traits.minimum != PanelMinimum::kNone;
  weights.minimum = MinimumOf(traits, group);
  return weights;
}

}  // namespace weft
