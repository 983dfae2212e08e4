// Types whose codes, or their low bits, are pairs of bits, 64 bytes of them a super-block: each
// half of it is four groups in bits 0, 2, 4 and 6 of 32 bytes.
#include "model/formats/blocks/block_bytes.h"

namespace weft::blocks {
namespace {

void ReadPairs(const std::byte* pairs, int64_t group, WeightGroup& out) {
  const std::byte* data = pairs + group / 4 * 32;
  for (int i = 0; i < 4; ++i) {
    out.codes[i] = LoadBits(data + 8 * i, static_cast<int>(group % 4 * 2), 2);
  }
}

// scales[16], in whose high nibbles the minimums are; pairs q[256]; half d, dmin
void ReadQ2_K(const std::byte* block, int64_t group, WeightGroup& out) {
  std::memcpy(out.scale, block + 2 * group, 2);
  ReadPairs(block + 16, group, out);
  out.d = LoadAt<uint16_t>(block + 80);
  out.d_minimum = LoadAt<uint16_t>(block + 82);
}

// The low nibbles of the scales 0 .. 7 and 8 .. 15 are those of 8 bytes; their high bit pairs are
// in bits 0, 2, 4 and 6 of 4 bytes. 32 stands for zero.
uint8_t ScaleOfQ3_K(const std::byte* packed, int64_t index) {
  const int low = ByteAt(packed, index % 8) >> (index / 8 * 4) & 15;
  const int high = ByteAt(packed, 8 + index % 4) >> (index / 4 * 2) & 3;
  return static_cast<uint8_t>((low | high << 4) - 32);
}

// 32 bytes of third bits, bit g of byte i belonging to element i of group g; pairs q[256];
// scales[12]; half d; 4 stands for zero
void ReadQ3_K(const std::byte* block, int64_t group, WeightGroup& out) {
  ReadPairs(block + 32, group, out);
  for (int i = 0; i < 4; ++i) {
    out.codes[i] |= LoadBits(block + 8 * i, static_cast<int>(group), 1) << 2;
  }
  for (int half = 0; half < 2; ++half) {
    out.scale[half] = ScaleOfQ3_K(block + 96, 2 * group + half);
  }
  out.d = LoadAt<uint16_t>(block + 108);
}

// pairs q[256], 1 stands for zero; half d
void ReadTQ2_0(const std::byte* block, int64_t group, WeightGroup& out) {
  ReadPairs(block, group, out);
  out.d = LoadAt<uint16_t>(block + 64);
}

}  // namespace

constexpr BlockFormat kQ2_K = Quantized<ReadQ2_K, 256, 84>("Q2_K", 10, PanelFormat::kQ2_K);
constexpr BlockFormat kQ3_K = Quantized<ReadQ3_K, 256, 110>("Q3_K", 11, PanelFormat::kQ3_K);
constexpr BlockFormat kTQ2_0 = Quantized<ReadTQ2_0, 256, 66>("TQ2_0", 35, PanelFormat::kTQ2_0);

}  // namespace weft::blocks
