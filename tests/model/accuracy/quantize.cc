#include "tests/model/accuracy/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "model/formats/dequantize.h"
#include "model/formats/quantize.h"
#include "model/kernels/weight_group.h"
#include "tests/model/formats/gguf_builder.h"

namespace weft {
namespace {

// What a reader will multiply with.
float RoundToHalf(float value) { return HalfToFloat(FloatToHalf(value)); }

// The code nearest to value / scale.
int Code(float value, float scale, int low, int high) {
  if (scale == 0) return std::clamp(0, low, high);
  return std::clamp(static_cast<int>(std::lround(value / scale)), low, high);
}

// The element farthest from zero, with its sign.
float Farthest(std::span<const float> x) {
  return *std::max_element(x.begin(), x.end(),
                           [](float a, float b) { return std::abs(a) < std::abs(b); });
}

// Zero is always inside.
struct Range {
  float low;
  float high;
};
Range RangeOf(std::span<const float> x) {
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  return {std::min(*low, 0.0F), std::max(*high, 0.0F)};
}

uint8_t Byte(int value) { return static_cast<uint8_t>(value); }

// Codes of 32 elements, low nibbles: element i beside element i + 16.
void WriteNibbles(const std::array<int, 32>& codes, ByteWriter& out) {
  for (size_t i = 0; i < 16; ++i) {
    out.Number(Byte((codes[i] & 0x0F) | (codes[i + 16] & 0x0F) << 4));
  }
}
void WriteFifthBits(const std::array<int, 32>& codes, ByteWriter& out) {
  uint32_t bits = 0;
  for (size_t i = 0; i < 32; ++i) bits |= static_cast<uint32_t>(codes[i] >> 4) << i;
  out.Number(bits);
}

void QuantizeQ8_0(std::span<const float> x, ByteWriter& out) {
  std::array<std::byte, 34> block;
  QuantizeRowQ8_0(x.data(), 32, block.data());
  out.Bytes(block);
}

// The farthest element gets the lowest code, which has no counterpart above.
template <int kBits>
void QuantizeQ4_0OrQ5_0(std::span<const float> x, ByteWriter& out) {
  constexpr int kZero = 1 << (kBits - 1);
  const float d = RoundToHalf(Farthest(x) / -kZero);
  std::array<int, 32> codes;
  for (size_t i = 0; i < 32; ++i) codes[i] = Code(x[i], d, -kZero, kZero - 1) + kZero;
  out.Number(FloatToHalf(d));
  if (kBits == 5) WriteFifthBits(codes, out);
  WriteNibbles(codes, out);
}

template <int kBits>
void QuantizeQ4_1OrQ5_1(std::span<const float> x, ByteWriter& out) {
  constexpr int kTop = (1 << kBits) - 1;
  const Range range = RangeOf(x);
  const float d = RoundToHalf((range.high - range.low) / kTop);
  const float m = RoundToHalf(range.low);
  std::array<int, 32> codes;
  for (size_t i = 0; i < 32; ++i) codes[i] = Code(x[i] - m, d, 0, kTop);
  out.Number(FloatToHalf(d)).Number(FloatToHalf(m));
  if (kBits == 5) WriteFifthBits(codes, out);
  WriteNibbles(codes, out);
}

// The 6-bit scales and minimums of eight groups in 12 bytes (DequantizeRow's UnpackScales).
void WriteGroupScales(const std::array<int, 8>& scale, const std::array<int, 8>& minimum,
                      ByteWriter& out) {
  for (size_t i = 0; i < 4; ++i) out.Number(Byte(scale[i] | scale[i + 4] >> 4 << 6));
  for (size_t i = 0; i < 4; ++i) out.Number(Byte(minimum[i] | minimum[i + 4] >> 4 << 6));
  for (size_t i = 4; i < 8; ++i) out.Number(Byte((scale[i] & 0x0F) | (minimum[i] & 0x0F) << 4));
}

template <int kBits>
void QuantizeQ4_KOrQ5_K(std::span<const float> x, ByteWriter& out) {
  constexpr int kTop = (1 << kBits) - 1;
  std::array<float, 8> steps;
  std::array<float, 8> depths;  // of the lowest element below zero
  for (size_t group = 0; group < 8; ++group) {
    const Range range = RangeOf(x.subspan(group * 32, 32));
    steps[group] = (range.high - range.low) / kTop;
    depths[group] = -range.low;
  }
  const float d = RoundToHalf(*std::max_element(steps.begin(), steps.end()) / 63);
  const float dmin = RoundToHalf(*std::max_element(depths.begin(), depths.end()) / 63);
  std::array<int, 8> scale;
  std::array<int, 8> minimum;
  std::array<int, 256> codes;
  for (size_t i = 0; i < 256; ++i) {
    const size_t group = i / 32;
    scale[group] = Code(steps[group], d, 0, 63);
    minimum[group] = Code(depths[group], dmin, 0, 63);
    codes[i] = Code(x[i] + dmin * static_cast<float>(minimum[group]),
                    d * static_cast<float>(scale[group]), 0, kTop);
  }
  out.Number(FloatToHalf(d)).Number(FloatToHalf(dmin));
  WriteGroupScales(scale, minimum, out);
  for (size_t i = 0; kBits == 5 && i < 32; ++i) {  // bit g: element i of group g
    int bits = 0;
    for (size_t group = 0; group < 8; ++group) bits |= codes[group * 32 + i] >> 4 << group;
    out.Number(Byte(bits));
  }
  for (size_t i = 0; i < 128; ++i) {  // 32 bytes hold two groups
    const size_t even = i / 32 * 64 + i % 32;
    out.Number(Byte((codes[even] & 0x0F) | (codes[even + 32] & 0x0F) << 4));
  }
}

void QuantizeQ6_K(std::span<const float> x, ByteWriter& out) {
  std::array<float, 16> steps;  // of runs of 16 elements, negative ones too
  for (size_t run = 0; run < 16; ++run) steps[run] = Farthest(x.subspan(run * 16, 16)) / -32;
  const float d = RoundToHalf(std::abs(Farthest(steps)) / 127);
  std::array<int, 16> scale;
  std::array<int, 256> codes;
  for (size_t i = 0; i < 256; ++i) {
    scale[i / 16] = Code(steps[i / 16], d, -127, 127);
    codes[i] = Code(x[i], d * static_cast<float>(scale[i / 16]), -32, 31) + 32;
  }
  for (size_t half = 0; half < 256; half += 128) {  // low nibbles: element i beside i + 64
    for (size_t i = half; i < half + 64; ++i) {
      out.Number(Byte((codes[i] & 0x0F) | (codes[i + 64] & 0x0F) << 4));
    }
  }
  for (size_t half = 0; half < 256; half += 128) {  // high bit pairs of i, i + 32, i + 64, i + 96
    for (size_t i = half; i < half + 32; ++i) {
      out.Number(Byte(codes[i] >> 4 | codes[i + 32] >> 4 << 2 | codes[i + 64] >> 4 << 4 |
                      codes[i + 96] >> 4 << 6));
    }
  }
  for (const int s : scale) out.Number(static_cast<int8_t>(s));
  out.Number(FloatToHalf(d));
}

// The scale that OCP gives, under which the farthest element is between 4 and 8; 6 is the largest.
void QuantizeMXFP4(std::span<const float> x, ByteWriter& out) {
  const float farthest = std::abs(Farthest(x));
  const uint8_t e = farthest > 0 ? Byte(std::ilogb(farthest) - 2 + 127) : uint8_t{0};
  const float scale = HalfScaleMXFP4(e);
  std::array<int, 32> codes;
  for (size_t i = 0; i < 32; ++i) {
    const auto error = [&](int8_t code) {
      return std::abs(static_cast<float>(code) * scale - x[i]);
    };
    const auto nearest = std::ranges::min_element(kCodesE2M1, {}, error);
    codes[i] = static_cast<int>(nearest - std::begin(kCodesE2M1));
  }
  out.Number(e);
  WriteNibbles(codes, out);
}

void QuantizeBlock(DataType type, std::span<const float> x, ByteWriter& out) {
  switch (type) {
    case DataType::kF32:
      out.Number(x[0]);
      return;
    case DataType::kF16:
      out.Number(FloatToHalf(x[0]));
      return;
    case DataType::kBF16:
      out.Number(FloatToBFloat16(x[0]));
      return;
    case DataType::kQ8_0:
      return QuantizeQ8_0(x, out);
    case DataType::kQ4_0:
      return QuantizeQ4_0OrQ5_0<4>(x, out);
    case DataType::kQ4_1:
      return QuantizeQ4_1OrQ5_1<4>(x, out);
    case DataType::kQ5_0:
      return QuantizeQ4_0OrQ5_0<5>(x, out);
    case DataType::kQ5_1:
      return QuantizeQ4_1OrQ5_1<5>(x, out);
    case DataType::kQ4_K:
      return QuantizeQ4_KOrQ5_K<4>(x, out);
    case DataType::kQ5_K:
      return QuantizeQ4_KOrQ5_K<5>(x, out);
    case DataType::kQ6_K:
      return QuantizeQ6_K(x, out);
    case DataType::kMXFP4:
      return QuantizeMXFP4(x, out);
    default:
      break;
  }
}

}  // namespace

std::vector<std::byte> QuantizeRow(DataType type, std::span<const float> row) {
  const auto block = static_cast<size_t>(TraitsOf(type).block_elements);
  WEFT_CHECK(row.size() % block == 0);
  ByteWriter out;
  for (size_t i = 0; i < row.size(); i += block) QuantizeBlock(type, row.subspan(i, block), out);
  return out.bytes();
}

}  // namespace weft
