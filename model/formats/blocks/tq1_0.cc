#include "model/formats/blocks/block_bytes.h"

namespace weft::blocks {
namespace {

// Digit `digit` of eight bytes that are each fractions, over 256, of five digits to base 3.
EightCodes DigitsAt(const std::byte* bytes, int digit) {
  constexpr uint8_t kPowers[] = {1, 3, 9, 27, 81};
  EightCodes codes = 0;
  for (int i = 0; i < 8; ++i) {
    const auto rest = static_cast<uint8_t>(ByteAt(bytes, i) * kPowers[digit]);
    codes |= EightCodes{rest} * 3 >> 8 << (8 * i);
  }
  return codes;
}

// Bytes of five digits to base 3, 1 stands for zero: the digits 0 .. 4 of 32 bytes are the groups 0
// .. 4, those of 16 more the half groups after these, the digits 0 .. 3 of 4 more the last 16
// elements; half d.
void ReadTQ1_0(const std::byte* block, int64_t group, WeightGroup& out) {
  out.d = LoadAt<uint16_t>(block + 52);
  for (int i = 0; i < 4; ++i) {
    const int half = static_cast<int>(2 * (group - 5)) + i / 2;
    if (group < 5) {
      out.codes[i] = DigitsAt(block + 8 * i, static_cast<int>(group));
    } else if (half < 5) {
      out.codes[i] = DigitsAt(block + 32 + i % 2 * 8, half);
    } else {
      // Four of each digit: as eight bytes, the upper four are the scale's and past the block.
      std::byte bytes[8] = {};
      std::memcpy(bytes, block + 48, 4);
      const int digit = i % 2 * 2;
      out.codes[i] = DigitsAt(bytes, digit) & 0xffffffff;
      out.codes[i] |= DigitsAt(bytes, digit + 1) << 32;
    }
  }
}

}  // namespace

constexpr BlockFormat kTQ1_0 = Quantized<ReadTQ1_0, 256, 54>("TQ1_0", 34, PanelFormat::kTQ2_0);

}  // namespace weft::blocks
