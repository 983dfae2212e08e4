#include "model/formats/quantize.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace weft {

uint16_t FloatToHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  const auto half = [&]() -> uint32_t {
    if (magnitude > 0x7f800000) return 0x7e00;
    if (magnitude >= 0x477ff000) return 0x7c00;  // 65520, which rounds to 65536
    if (magnitude < 0x38800000) {                // 2^-14: below it the unit is 2^-24
      return static_cast<uint32_t>(std::nearbyint(std::abs(value) * 0x1p24F));
    }
    return (magnitude + 0x0fff + (magnitude >> 13 & 1) - 0x38000000) >> 13;
  }();
  return static_cast<uint16_t>(sign | half);
}

void QuantizeRowQ8_0(const float* x, int64_t columns, std::byte* out) {
  constexpr int64_t kBlock = 32;
  constexpr uint16_t kInfiniteHalf = 0x7c00;
  WEFT_CHECK(columns % kBlock == 0);
  for (; columns > 0; columns -= kBlock, x += kBlock, out += 2 + kBlock) {
    float largest = 0;
    for (int64_t i = 0; i < kBlock; ++i) {
      const float magnitude = std::abs(x[i]);
      if (largest < magnitude || std::isnan(magnitude)) largest = magnitude;
    }
    const float scale = largest / 127.0F;
    const uint16_t half = FloatToHalf(scale);
    int8_t codes[kBlock] = {};
    if (half != 0 && half < kInfiniteHalf) {
      const float inverse = 1.0F / scale;
      for (int64_t i = 0; i < kBlock; ++i) {
        codes[i] = static_cast<int8_t>(std::round(x[i] * inverse));
      }
    }
    std::memcpy(out, &half, sizeof half);
    std::memcpy(out + sizeof half, codes, sizeof codes);
  }
}

}  // namespace weft
