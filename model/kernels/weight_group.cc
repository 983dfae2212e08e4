#include "model/kernels/weight_group.h"

#include <bit>
#include <cstring>

#include "model/formats/dequantize.h"
#include "model/kernels/panel_format.h"

namespace weft {
namespace {

template <typename T>
T Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}
float HalfOf(const uint8_t* bytes) { return HalfToFloat(Load<uint16_t>(bytes)); }
float BFloatOf(const uint8_t* bytes) { return BFloat16ToFloat(Load<uint16_t>(bytes)); }

int32_t SignedByte(uint32_t byte) { return static_cast<int8_t>(byte); }

int32_t IntegerOf(const PanelTraits& traits, uint32_t code) {
  if (traits.table != nullptr) return traits.table[code];
  if (traits.code_bits == 8) return SignedByte(code);
  return static_cast<int32_t>(code) - traits.zero_point;
}

float FloatOf(const PanelTraits& traits, uint32_t code) {
  if (traits.floats != nullptr) return traits.floats[code];
  return static_cast<float>(IntegerOf(traits, code));
}

// What both halves of the codes are multiplied with, but for their own scales.
float CommonScale(const PanelTraits& traits, const WeightGroup& group) {
  switch (traits.scale) {
    case PanelScale::kHalf:
      return HalfOf(group.scale);
    case PanelScale::kBFloat:
      return BFloatOf(group.scale);
    case PanelScale::kFloat:
      return Load<float>(group.scale);
    case PanelScale::kExponent:
      return HalfScaleMXFP4(group.scale[0]);
    case PanelScale::kBytes:
      return HalfToFloat(group.d) * traits.unit * static_cast<float>(SignedByte(group.scale[0]));
    case PanelScale::kHalvesE4M3:
    case PanelScale::kHalvesFloat:
      return 1;
    case PanelScale::kSuperBlock:
    case PanelScale::kHalvesBytes:
    case PanelScale::kHalvesNibbles:
      break;
  }
  return HalfToFloat(group.d) * traits.unit;
}

float HalfScale(const PanelTraits& traits, const WeightGroup& group, int64_t half) {
  const uint8_t byte = group.scale[half];
  switch (traits.scale) {
    case PanelScale::kHalvesBytes:
      return static_cast<float>(SignedByte(byte));
    case PanelScale::kHalvesNibbles:
      return static_cast<float>(byte & 15);
    case PanelScale::kHalvesE4M3:
      // As an f16, whose exponents are 8 larger.
      return HalfToFloat(static_cast<uint16_t>(byte << 7)) * 0x1p7F;
    case PanelScale::kHalvesFloat:
      return Load<float>(group.scale + 4 * half);
    case PanelScale::kHalf:
    case PanelScale::kBFloat:
    case PanelScale::kFloat:
    case PanelScale::kExponent:
    case PanelScale::kSuperBlock:
    case PanelScale::kBytes:
      break;
  }
  return 1;
}

// What both halves of the codes get added, or, of halves' minimums, that times these.
float CommonMinimum(const PanelTraits& traits, const WeightGroup& group) {
  switch (traits.minimum) {
    case PanelMinimum::kNone:
      break;
    case PanelMinimum::kHalf:
      return HalfOf(group.minimum);
    case PanelMinimum::kBFloat:
      return BFloatOf(group.minimum);
    case PanelMinimum::kZeroPoint:
      return -CommonScale(traits, group) * static_cast<float>(group.minimum[0]);
    case PanelMinimum::kBytes:
      return -HalfToFloat(group.d_minimum) * static_cast<float>(group.minimum[0]);
    case PanelMinimum::kHalvesNibbles:
      return -HalfToFloat(group.d_minimum);
  }
  return 0;
}

float HalfMinimum(const PanelTraits& traits, const WeightGroup& group, int64_t half) {
  if (traits.minimum != PanelMinimum::kHalvesNibbles) return 1;
  return static_cast<float>(group.scale[half] >> 4);
}

}  // namespace

float HalfScaleMXFP4(uint8_t e) {
  return std::bit_cast<float>(e < 2 ? uint32_t{0x00200000} << e : (e - uint32_t{1}) << 23);
}

void ValuesOf(PanelFormat format, const WeightGroup& group, float* out) {
  const PanelTraits& traits = TraitsOf(format);
  for (int64_t half = 0; half < 2; ++half) {
    const float scale = CommonScale(traits, group) * HalfScale(traits, group, half);
    const float minimum = CommonMinimum(traits, group) * HalfMinimum(traits, group, half);
    for (int64_t k = 16 * half; k < 16 * half + 16; ++k) {
      const float value = FloatOf(traits, group.code(k)) * scale;
      out[k] = traits.minimum == PanelMinimum::kNone ? value : value + minimum;
    }
  }
}

Int8Weights IntegersOf(PanelFormat format, const WeightGroup& group) {
  const PanelTraits& traits = TraitsOf(format);
  Int8Weights weights = {};
  for (int64_t k = 0; k < kGroupColumns; ++k) {
    weights.codes[k] = IntegerOf(traits, group.code(k));
  }
  weights.has_halves = HasHalves(traits);
  weights.minimum_kind = traits.minimum;
  for (int64_t half = 0; half < 2; ++half) {
    weights.scales[half] = CommonScale(traits, group) * HalfScale(traits, group, half);
    weights.minimums[half] = CommonMinimum(traits, group) * HalfMinimum(traits, group, half);
  }
  return weights;
}

}  // namespace weft
