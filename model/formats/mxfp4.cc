#include "model/formats/mxfp4.h"

#include "base/check.h"

namespace weft {

void JoinRowMXFP4(const std::byte* codes, const std::byte* scales, int64_t columns,
                  std::byte* out) {
  WEFT_CHECK(columns % 32 == 0);
  constexpr std::byte kLow{0x0F};
  constexpr std::byte kHigh{0xF0};
  for (int64_t block = 0; block < columns / 32; ++block, codes += 16, out += 17) {
    out[0] = scales[block];
    // Out go element j in the low half of byte j, element j + 16 in its high half.
    for (int64_t i = 0; i < 8; ++i) {
      out[1 + 2 * i] = (codes[i] & kLow) | (codes[i + 8] & kLow) << 4;
      out[2 + 2 * i] = codes[i] >> 4 | (codes[i + 8] & kHigh);
    }
  }
}

}  // namespace weft
