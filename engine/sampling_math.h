// exp for whole vocabularies: the same bits on every machine, from float32 additions,
// multiplications and bit operations alone. exact::Exp is more precise, but costs a call a token.
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

}  // namespace weft
