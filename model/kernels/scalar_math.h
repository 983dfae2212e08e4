// The arithmetic of the bf16 definition, one value at a time. Every instruction set repeats these
// operations in this order. Callers hold ScopedFlushDenormals.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "model/config.h"
#include "model/formats/dequantize.h"

namespace weft::scalar {

// round(a * b + c): one rounding, as hardware fma. Written out because the baseline x86-64 has no
// such instruction and libm's stand-in does not know about flushing. The product of two floats is
// exact in double; their sum is rounded to odd there, which makes the second rounding, to float,
// the only one that counts (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums",
// 2008). The conversions to and from double flush denormals exactly as the instruction does.
inline float FusedMultiplyAdd(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double addend = c;
  double sum = product + addend;
  const double addend_part = sum - product;
  const double error = (product - (sum - addend_part)) + (addend - addend_part);
  const auto bits = std::bit_cast<uint64_t>(sum);
  if ((error > 0 || error < 0) && (bits & 1) == 0) {  // an overflow's error is NaN
    sum = std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
  }
  return static_cast<float>(sum);
}

// The same for a and b that hold bf16 values: their product has 16 bits, so that it is exact in
// float unless it leaves the normal range, and one addition makes the only rounding.
inline float FusedMultiplyAddBF16(float a, float b, float c) {
  const float product = a * b;
  const float magnitude = std::fabs(product);
  if (magnitude >= std::numeric_limits<float>::min() &&
      magnitude <= std::numeric_limits<float>::max()) {
    return product + c;
  }
  return FusedMultiplyAdd(a, b, c);
}

// A float32 as an operand: denormals become zero, the rest is rounded to nearest even.
inline uint16_t OperandBits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7f800000) == 0) return static_cast<uint16_t>(bits >> 16 & 0x8000);
  return FloatToBFloat16(value);
}
inline float RoundToOperand(float value) { return BFloat16ToFloat(OperandBits(value)); }

// MAXPS: `b` where the two are equal or one is NaN.
inline float Max(float a, float b) { return a > b ? a : b; }

// e^x with a relative error below 2^-22. 0 below kExpLowest, infinity above kExpHighest.
inline constexpr float kExpLowest = -87.3F;
inline constexpr float kExpHighest = 88.3F;
inline float Exp(float x) {
  constexpr float kShift = 0x1.8p23F;  // adding it leaves no room for a fraction
  const float shifted = FusedMultiplyAdd(x, 0x1.715476p+0F, kShift);
  const float n = shifted - kShift;
  float r = FusedMultiplyAdd(n, -0x1.62e4p-1F, x);
  r = FusedMultiplyAdd(n, -0x1.7f7d1cp-20F, r);
  // Minimax on [-ln 2 / 2, ln 2 / 2], the first two coefficients held at 1.
  float p = FusedMultiplyAdd(0x1.6a2354p-10F, r, 0x1.123a6cp-7F);
  p = FusedMultiplyAdd(p, r, 0x1.5558f4p-5F);
  p = FusedMultiplyAdd(p, r, 0x1.55549p-3F);
  p = FusedMultiplyAdd(p, r, 0x1.fffffcp-2F);
  p = FusedMultiplyAdd(p, r, 1.0F);
  p = FusedMultiplyAdd(p, r, 1.0F);
  // The lowest bits of `shifted` are n.
  const float power = std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) << 23) + 0x3f800000);
  const float result = p * power;
  if (x < kExpLowest) return 0;
  if (x > kExpHighest) return std::numeric_limits<float>::infinity();
  return result;
}

// SiLU: x / (1 + e^-x). GELU, tanh form: x / (1 + e^(-2 sqrt(2 / pi) (x + 0.044715 x^3))).
inline float Activate(float x, ActivationKind kind) {
  float argument = -x;
  if (kind == ActivationKind::kGelu) {
    const float cubic = FusedMultiplyAdd(x * x * 0.044715F, x, x);
    argument = cubic * -1.5957691F;
  }
  return x / (1.0F + Exp(argument));
}

// 16 virtual lanes: element i belongs to lane i % 16; a last partial 16 is completed with zeros.
struct Lanes {
  float lane[16] = {};

  float Fold() const {
    float folded[16];
    for (int i = 0; i < 16; ++i) folded[i] = lane[i];
    for (int half = 8; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) folded[i] = folded[i] + folded[i + half];
    }
    return folded[0];
  }
};

// Dot product of n bf16 values each (as floats), n a multiple of 32: the definition's chains.
// Element i of b is b[i * b_stride].
inline float Dot(const float* a, const float* b, int64_t b_stride, int64_t n) {
  float sum = 0;
  for (int64_t group = 0; group < n; group += 32) {
    float even = 0;
    float odd = 0;
    for (int64_t k = group; k < group + 32; k += 2) {
      even = FusedMultiplyAddBF16(a[k], b[k * b_stride], even);
      odd = FusedMultiplyAddBF16(a[k + 1], b[(k + 1) * b_stride], odd);
    }
    sum = sum + (even + odd);
  }
  return sum;
}

}  // namespace weft::scalar
