#include "model/formats/blocks/block_bytes.h"

namespace weft::blocks {
namespace {

// 128 bytes of low nibbles, 64 of high bit pairs, int8 scales[16], half d; 32 stands for zero. Each
// half of the block is four groups: 0 and 1 in the low nibbles of 64 bytes, 2 and 3 in their high
// ones, and group r in bits 2r of 32 bytes of pairs.
void ReadQ6_K(const std::byte* block, int64_t group, WeightGroup& out) {
  const int64_t half = group / 4;
  const int in_half = static_cast<int>(group % 4);
  const std::byte* low = block + 64 * half + in_half % 2 * 32;
  const std::byte* high = block + 128 + 32 * half;
  for (int i = 0; i < 4; ++i) {
    out.codes[i] =
        LoadBits(low + 8 * i, in_half / 2 * 4, 4) | LoadBits(high + 8 * i, 2 * in_half, 2) << 4;
  }
  std::memcpy(out.scale, block + 192 + 2 * group, 2);
  out.d = LoadAt<uint16_t>(block + 208);
}

}  // namespace

constexpr BlockFormat kQ6_K = Quantized<ReadQ6_K, 256, 210>("Q6_K", 14, PanelFormat::kQ6_K);

}  // namespace weft::blocks
