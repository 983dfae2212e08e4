// The arithmetic of the bf16 definition, one value at a time. Every instruction set repeats these
// operations in this order. Callers hold ScopedFlushDenormals.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/check.h"
#include "model/formats/dequantize.h"
#include "model/kernels/kinds.h"

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

// tanh x with a relative error below 2^-22; the sign of x, of zero too. Below kTanhSmall x and an
// odd polynomial, whose term in x is exact (Moshier, Cephes' tanhf); from there on 1 - 2 / (e^2x +
// 1), which does not cancel any more.
inline constexpr float kTanhSmall = 0.625F;
inline float Tanh(float x) {
  const float magnitude = std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0x7fffffff);
  const float square = magnitude * magnitude;
  float p = FusedMultiplyAdd(square, -5.70498872745e-3F, 2.06390887954e-2F);
  p = FusedMultiplyAdd(p, square, -5.37397155531e-2F);
  p = FusedMultiplyAdd(p, square, 1.33314422036e-1F);
  p = FusedMultiplyAdd(p, square, -3.33332819422e-1F);
  const float small = FusedMultiplyAdd(p * square, magnitude, magnitude);
  const float large = 1.0F - 2.0F / (Exp(magnitude + magnitude) + 1.0F);
  const float result = magnitude < kTanhSmall ? small : large;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(result) |
                              (std::bit_cast<uint32_t>(x) & 0x80000000));
}

// x for small x, never beyond `cap` in magnitude.
inline float SoftCap(float x, float cap) { return cap * Tanh(x / cap); }

inline float Sigmoid(float x) { return 1.0F / (1.0F + Exp(-x)); }

// GELU, x times the normal distribution up to x, by its tanh form: x / (1 + e^(-2 sqrt(2 / pi) (x +
// 0.044715 x^3))).
inline float GeluTanh(float x) {
  const float cubic = FusedMultiplyAdd(x * x * 0.044715F, x, x);
  return x / (1.0F + Exp(cubic * -1.5957691F));
}

// GELU itself: x * erfc(-x / sqrt 2) / 2, as x - x * erfc(|x| / sqrt 2) / 2 for positive x, so that
// nothing cancels. erfc is Abramowitz and Stegun's 7.1.26, off by at most 1.5e-7; GELU is by at
// most 3e-7 for |x| < 4 and less beyond, besides its own rounding.
inline float GeluExact(float x) {
  const float z = std::fabs(x) * 0.70710678F;
  const float t = 1.0F / FusedMultiplyAdd(z, 0.3275911F, 1.0F);
  float p = FusedMultiplyAdd(t, 1.061405429F, -1.453152027F);
  p = FusedMultiplyAdd(p, t, 1.421413741F);
  p = FusedMultiplyAdd(p, t, -0.284496736F);
  p = FusedMultiplyAdd(p, t, 0.254829592F);
  const float erfc = p * t * Exp(-(z * z));
  const float tail = 0.5F * x * erfc;
  return x < 0 ? tail : x - tail;
}

// The larger of 0 and x, never a negative zero or a denormal; NaN stays.
inline float Relu(float x) { return Max(0.0F, x) + 0.0F; }

// All but kClampedSwiglu and kXielu. SiLU: x / (1 + e^-x).
inline float Activate(float x, ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kSilu:
      return x / (1.0F + Exp(-x));
    case ActivationKind::kGeluTanh:
      return GeluTanh(x);
    case ActivationKind::kGeluExact:
      return GeluExact(x);
    case ActivationKind::kRelu:
      return Relu(x);
    case ActivationKind::kReluSquared:
      return Relu(x) * Relu(x);
    case ActivationKind::kClampedSwiglu:
    case ActivationKind::kXielu:
      break;
  }
  WEFT_CHECK(false);
}

// gpt-oss: the gate is cut at 7, `up` at -7 and 7, then (up + 1) * (gate * sigmoid(1.702 gate)).
inline float ClampedSwiglu(float gate, float up) {
  constexpr float kLimit = 7;
  gate = kLimit < gate ? kLimit : gate;
  up = kLimit < up ? kLimit : up;
  up = up < -kLimit ? -kLimit : up;
  return (up + 1.0F) * (gate / (1.0F + Exp(gate * -1.702F)));
}

// xIELU: alpha_positive x^2 + x / 2 for positive x, otherwise alpha_negative (e^x - 1 - x) + x / 2,
// the bracket by its series where the difference would cancel. (What trains it takes e^x of at most
// e^-1e-6, for its gradient's sake: no more than 1e-6 alpha_negative apart.)
inline float Xielu(float x, float alpha_positive, float alpha_negative) {
  const float half = 0.5F * x;
  if (0 < x) return FusedMultiplyAdd(alpha_positive * x, x, half);
  float p = FusedMultiplyAdd(x, 1.0F / 40320.0F, 1.0F / 5040.0F);
  p = FusedMultiplyAdd(p, x, 1.0F / 720.0F);
  p = FusedMultiplyAdd(p, x, 1.0F / 120.0F);
  p = FusedMultiplyAdd(p, x, 1.0F / 24.0F);
  p = FusedMultiplyAdd(p, x, 1.0F / 6.0F);
  p = FusedMultiplyAdd(p, x, 0.5F);
  const float bend = -0.5F < x ? p * (x * x) : (Exp(x) - 1.0F) - x;
  return FusedMultiplyAdd(alpha_negative, bend, half);
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

// As the bf16pair arithmetic has it, and for weights of f16 every one: one chain over all pairs, of
// each the odd k first. kMultiplyAdd: what suits the operands.
template <float (*kMultiplyAdd)(float, float, float)>
inline float DotPairs(const float* a, const float* b, int64_t n) {
  float sum = 0;
  for (int64_t k = 0; k < n; k += 2) {
    sum = kMultiplyAdd(a[k + 1], b[k + 1], sum);
    sum = kMultiplyAdd(a[k], b[k], sum);
  }
  return sum;
}

}  // namespace weft::scalar
