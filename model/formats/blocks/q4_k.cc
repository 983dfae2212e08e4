// Q4_K: half d, dmin; scales[12]; nibbles q[256]. Q5_K: 32 bytes of fifth bits before the nibbles,
// bit g of byte i belonging to element i of group g. 32 bytes of nibbles hold two groups of 32.
#include "model/formats/blocks/block_bytes.h"

namespace weft::blocks {
namespace {

// The group's 6-bit scale and minimum, of eight each in 12 bytes: the first four of each are whole,
// the last four are cut in 4 low and 2 high bits.
void ReadScaleAndMinimum(const std::byte* block, int64_t group, WeightGroup& out) {
  out.d = LoadAt<uint16_t>(block);
  out.d_minimum = LoadAt<uint16_t>(block + 2);
  const std::byte* packed = block + 4;
  if (group < 4) {
    out.scale[0] = ByteAt(packed, group) & 63;
    out.minimum[0] = ByteAt(packed, group + 4) & 63;
    return;
  }
  const int low = ByteAt(packed, group + 4);
  out.scale[0] = static_cast<uint8_t>((low & 15) | (ByteAt(packed, group - 4) >> 6 << 4));
  out.minimum[0] = static_cast<uint8_t>((low >> 4) | (ByteAt(packed, group) >> 6 << 4));
}

void ReadGroupNibbles(const std::byte* nibbles, int64_t group, WeightGroup& out) {
  const std::byte* data = nibbles + group / 2 * 32;
  for (int i = 0; i < 4; ++i) {
    out.codes[i] = LoadBits(data + 8 * i, static_cast<int>(group % 2 * 4), 4);
  }
}

void ReadQ4_K(const std::byte* block, int64_t group, WeightGroup& out) {
  ReadScaleAndMinimum(block, group, out);
  ReadGroupNibbles(block + 16, group, out);
}

void ReadQ5_K(const std::byte* block, int64_t group, WeightGroup& out) {
  ReadScaleAndMinimum(block, group, out);
  ReadGroupNibbles(block + 48, group, out);
  for (int i = 0; i < 4; ++i) {
    out.codes[i] |= LoadBits(block + 16 + 8 * i, static_cast<int>(group), 1) << 4;
  }
}

}  // namespace

constexpr BlockFormat kQ4_K = Quantized<ReadQ4_K, 256, 144>("Q4_K", 12, PanelFormat::kQ4_K);
constexpr BlockFormat kQ5_K = Quantized<ReadQ5_K, 256, 176>("Q5_K", 13, PanelFormat::kQ5_K);

}  // namespace weft::blocks
