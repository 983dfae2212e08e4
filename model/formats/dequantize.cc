#include "model/formats/dequantize.h"

#include <bit>
#include <cstring>

#include "base/check.h"
#include "model/formats/mxfp4.h"

namespace weft {
namespace {

// A file's data may lie at any address (safetensors promises no alignment): bytes are read one at a
// time or copied. Numbers in files are little-endian, as is every machine Weft builds for.
static_assert(std::endian::native == std::endian::little);

uint8_t ByteAt(const std::byte* data, int64_t index) { return static_cast<uint8_t>(data[index]); }
int8_t SignedByteAt(const std::byte* data, int64_t index) {
  return static_cast<int8_t>(data[index]);
}
float HalfAt(const std::byte* data) {
  uint16_t bits = 0;
  std::memcpy(&bits, data, sizeof bits);
  return HalfToFloat(bits);
}
uint32_t WordAt(const std::byte* data) {
  uint32_t word = 0;
  std::memcpy(&word, data, sizeof word);
  return word;
}

// Every block below stores the low nibbles of its first half beside those of its second half. The
// integer is formed first, then converted, then multiplied: two roundings at most, no contraction.

// half d; int8 q[32]
void DequantizeQ8_0(const std::byte* block, float* out) {
  const float d = HalfAt(block);
  for (int64_t i = 0; i < 32; ++i) out[i] = static_cast<float>(SignedByteAt(block + 2, i)) * d;
}

// half d; nibbles q[32], 8 stands for zero
void DequantizeQ4_0(const std::byte* block, float* out) {
  const float d = HalfAt(block);
  for (int64_t i = 0; i < 16; ++i) {
    const int packed = ByteAt(block + 2, i);
    out[i] = static_cast<float>((packed & 0x0F) - 8) * d;
    out[i + 16] = static_cast<float>((packed >> 4) - 8) * d;
  }
}

// exponent e; nibbles q[32], which stand for integers in a table. Those are twice the values, and
// so the scale is half of 2^(e - 127).
void DequantizeMXFP4(const std::byte* block, float* out) {
  const float d = HalfScaleMXFP4(ByteAt(block, 0));
  for (int64_t i = 0; i < 16; ++i) {
    const int packed = ByteAt(block + 1, i);
    out[i] = static_cast<float>(kCodesMXFP4[packed & 0x0F]) * d;
    out[i + 16] = static_cast<float>(kCodesMXFP4[packed >> 4]) * d;
  }
}

// half d, m; nibbles q[32]
void DequantizeQ4_1(const std::byte* block, float* out) {
  const float d = HalfAt(block);
  const float m = HalfAt(block + 2);
  for (int64_t i = 0; i < 16; ++i) {
    const int packed = ByteAt(block + 4, i);
    out[i] = static_cast<float>(packed & 0x0F) * d + m;
    out[i + 16] = static_cast<float>(packed >> 4) * d + m;
  }
}

// half d; 32 fifth bits; nibbles q[32]; 16 stands for zero
void DequantizeQ5_0(const std::byte* block, float* out) {
  const float d = HalfAt(block);
  const uint32_t high = WordAt(block + 2);
  for (int64_t i = 0; i < 16; ++i) {
    const int packed = ByteAt(block + 6, i);
    const int high0 = static_cast<int>(high >> i & 1) << 4;
    const int high1 = static_cast<int>(high >> (i + 16) & 1) << 4;
    out[i] = static_cast<float>(((packed & 0x0F) | high0) - 16) * d;
    out[i + 16] = static_cast<float>(((packed >> 4) | high1) - 16) * d;
  }
}

// half d, m; 32 fifth bits; nibbles q[32]
void DequantizeQ5_1(const std::byte* block, float* out) {
  const float d = HalfAt(block);
  const float m = HalfAt(block + 2);
  const uint32_t high = WordAt(block + 4);
  for (int64_t i = 0; i < 16; ++i) {
    const int packed = ByteAt(block + 8, i);
    const int high0 = static_cast<int>(high >> i & 1) << 4;
    const int high1 = static_cast<int>(high >> (i + 16) & 1) << 4;
    out[i] = static_cast<float>((packed & 0x0F) | high0) * d + m;
    out[i + 16] = static_cast<float>((packed >> 4) | high1) * d + m;
  }
}

// The 6-bit scale and minimum of each of the eight groups of a Q4_K or Q5_K block, out of 12 bytes:
// the first four of each are whole, the last four are cut in 4 low and 2 high bits.
struct GroupScales {
  int scale[8];
  int minimum[8];
};
GroupScales UnpackScales(const std::byte* packed) {
  GroupScales scales = {};
  for (int i = 0; i < 4; ++i) {
    const int a = ByteAt(packed, i);
    const int b = ByteAt(packed, i + 4);
    const int c = ByteAt(packed, i + 8);
    scales.scale[i] = a & 0x3F;
    scales.minimum[i] = b & 0x3F;
    scales.scale[i + 4] = (c & 0x0F) | (a >> 6 << 4);
    scales.minimum[i + 4] = (c >> 4) | (b >> 6 << 4);
  }
  return scales;
}

// Q4_K: half d, dmin; scales[12]; nibbles q[256]. Q5_K: 32 bytes of fifth bits before the nibbles,
// bit g of byte i belonging to element i of group g. 32 bytes of nibbles hold two groups of 32.
template <bool kHasFifthBits>
void DequantizeQ4_KOrQ5_K(const std::byte* block, float* out) {
  const float d = HalfAt(block);
  const float dmin = HalfAt(block + 2);
  const GroupScales scales = UnpackScales(block + 4);
  const std::byte* high = block + 16;
  const std::byte* low = kHasFifthBits ? block + 48 : block + 16;
  for (int group = 0; group < 8; ++group) {
    const float group_scale = d * static_cast<float>(scales.scale[group]);
    const float group_minimum = dmin * static_cast<float>(scales.minimum[group]);
    for (int64_t i = 0; i < 32; ++i) {
      const int packed = ByteAt(low + group / 2 * 32, i);
      int q = group % 2 == 0 ? packed & 0x0F : packed >> 4;
      if (kHasFifthBits) q |= (ByteAt(high, i) >> group & 1) << 4;
      out[group * 32 + i] = group_scale * static_cast<float>(q) - group_minimum;
    }
  }
}

// 128 bytes of low nibbles, 64 of high bit pairs, int8 scales[16], half d; 32 stands for zero. Each
// half of the block is four runs of 32 elements: runs 0 and 1 in the low nibbles of 64 bytes, runs
// 2 and 3 in their high ones, and run r in bits 2r of 32 bytes of pairs.
void DequantizeQ6_K(const std::byte* block, float* out) {
  const float d = HalfAt(block + 208);
  for (int half = 0; half < 2; ++half) {
    const std::byte* low = block + half * 64;
    const std::byte* high = block + 128 + half * 32;
    const std::byte* scales = block + 192 + half * 8;
    for (int run = 0; run < 4; ++run) {
      for (int64_t i = 0; i < 32; ++i) {
        const int packed = ByteAt(low + run % 2 * 32, i);
        const int nibble = run < 2 ? packed & 0x0F : packed >> 4;
        const int pair = ByteAt(high, i) >> (2 * run) & 3;
        const float scale = static_cast<float>(SignedByteAt(scales, 2 * run + i / 16));
        out[half * 128 + run * 32 + i] = d * scale * static_cast<float>((nibble | pair << 4) - 32);
      }
    }
  }
}

template <auto kDequantizeBlock>
void DequantizeBlocks(DataType type, const std::byte* row, int64_t columns, float* out) {
  const DataTypeTraits& traits = TraitsOf(type);
  for (int64_t column = 0; column < columns; column += traits.block_elements) {
    kDequantizeBlock(row, out + column);
    row += traits.block_bytes;
  }
}

void DequantizeF16(const std::byte* element, float* out) { *out = HalfAt(element); }
void DequantizeBF16(const std::byte* element, float* out) {
  uint16_t bits = 0;
  std::memcpy(&bits, element, sizeof bits);
  *out = BFloat16ToFloat(bits);
}
void DequantizeU8(const std::byte* element, float* out) {
  *out = static_cast<float>(ByteAt(element, 0));
}

}  // namespace

float HalfToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 0x1F;
  const uint32_t mantissa = bits & 0x03FF;
  if (exponent == 0x1F) {  // infinity, or NaN made quiet with its payload kept, as F16C does
    const uint32_t quiet = mantissa != 0 ? 0x00400000 : 0;
    return std::bit_cast<float>(sign | 0x7F800000 | quiet | mantissa << 13);
  }
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  if (mantissa == 0) return std::bit_cast<float>(sign);
  // Subnormal, value mantissa * 2^-24: normal in float32. Integer arithmetic only, so that no
  // flush-to-zero mode can touch it.
  const auto shift = static_cast<uint32_t>(std::countl_zero(mantissa)) - 21;  // to bit 10
  return std::bit_cast<float>(sign | (113 - shift) << 23 | (mantissa << shift & 0x03FF) << 13);
}

float BFloat16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t FloatToBFloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>(bits >> 16 | 0x0040);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

void DequantizeRow(DataType type, const std::byte* row, int64_t columns, float* out) {
  WEFT_CHECK(columns >= 0 && columns % TraitsOf(type).block_elements == 0);
  switch (type) {
    case DataType::kF32:
      if (columns > 0) std::memcpy(out, row, static_cast<size_t>(columns) * sizeof *out);
      return;
    case DataType::kF16:
      return DequantizeBlocks<DequantizeF16>(type, row, columns, out);
    case DataType::kBF16:
      return DequantizeBlocks<DequantizeBF16>(type, row, columns, out);
    case DataType::kQ8_0:
      return DequantizeBlocks<DequantizeQ8_0>(type, row, columns, out);
    case DataType::kQ4_0:
      return DequantizeBlocks<DequantizeQ4_0>(type, row, columns, out);
    case DataType::kQ4_1:
      return DequantizeBlocks<DequantizeQ4_1>(type, row, columns, out);
    case DataType::kQ5_0:
      return DequantizeBlocks<DequantizeQ5_0>(type, row, columns, out);
    case DataType::kQ5_1:
      return DequantizeBlocks<DequantizeQ5_1>(type, row, columns, out);
    case DataType::kQ4_K:
      return DequantizeBlocks<DequantizeQ4_KOrQ5_K<false>>(type, row, columns, out);
    case DataType::kQ5_K:
      return DequantizeBlocks<DequantizeQ4_KOrQ5_K<true>>(type, row, columns, out);
    case DataType::kQ6_K:
      return DequantizeBlocks<DequantizeQ6_K>(type, row, columns, out);
    case DataType::kMXFP4:
      return DequantizeBlocks<DequantizeMXFP4>(type, row, columns, out);
    case DataType::kU8:
      return DequantizeBlocks<DequantizeU8>(type, row, columns, out);
    case DataType::kI64:  // no weights
      break;
  }
  WEFT_CHECK(!"a DataType without a dequantiser");
}

}  // namespace weft
