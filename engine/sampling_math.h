// exp and log for the sampler: the same bits on every machine, from additions, multiplications and
// bit operations alone.
#pragma once

#include <bit>
#include <cstdint>

namespace weft {

// exp(x) for x <= 0, relative error below 2e-7; 0 below -87. Free of branches, so that a loop of it
// is vectorised. Cephes' reduction: x = n ln 2 + r, exp(x) = 2^n exp(r).
inline float ExpNonPositive(float x) {
  const float clamped = x < -87.0F ? -87.0F : x;
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const float n = (clamped * 1.44269504F + kRounder) - kRounder;
  const float r = (clamped - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  const float scale = std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
  return x < -87.0F ? 0.0F : p * scale;
}

// log(x) for normal x > 0, relative error below 1e-14: x = 2^n m, log(m) = 2 artanh((m - 1) / (m +
// 1)).
inline double LogPositive(double x) {
  auto bits = std::bit_cast<uint64_t>(x);
  int64_t exponent = static_cast<int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double series = 0;
  for (int k = 21; k >= 1; k -= 2) series = series * s2 + 1.0 / k;
  return static_cast<double>(exponent) * 0.69314718055994530942 + 2 * s * series;
}

}  // namespace weft
