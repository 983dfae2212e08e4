// From a file's bytes to float32: the scalar definition of every type, expression for expression
// ggml's.
#pragma once

#include <bit>
#include <cstdint>

#include "model/tensor.h"

namespace weft {

inline float HalfToFloat(uint16_t bits) {
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

inline float BFloat16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Round to nearest, ties to even; NaN stays NaN (quiet). Denormals are not flushed here.
inline uint16_t FloatToBFloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>(bits >> 16 | 0x0040);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// out[0 .. columns) from one row in the file's format. columns is a multiple of the type's block.
void DequantizeRow(DataType type, const std::byte* row, int64_t columns, float* out);

}  // namespace weft
