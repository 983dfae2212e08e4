#include "model/formats/blocks/block_bytes.h"

namespace weft::blocks {
namespace {

// Four bytes of fifth bits, bit i that of element i, and nibbles.
void ReadFiveBits(const std::byte* data, WeightGroup& out) {
  ReadNibbles(data + 4, out);
  for (int i = 0; i < 4; ++i) out.codes[i] |= SpreadBits(ByteAt(data, i)) << 4;
}

// half d; 32 fifth bits; nibbles q[32]; 16 stands for zero
void ReadQ5_0(const std::byte* block, int64_t /*group*/, WeightGroup& out) {
  std::memcpy(out.scale, block, 2);
  ReadFiveBits(block + 2, out);
}

// half d, m; 32 fifth bits; nibbles q[32]
void ReadQ5_1(const std::byte* block, int64_t /*group*/, WeightGroup& out) {
  std::memcpy(out.scale, block, 2);
  std::memcpy(out.minimum, block + 2, 2);
  ReadFiveBits(block + 4, out);
}

}  // namespace

constexpr BlockFormat kQ5_0 = Quantized<ReadQ5_0, 32, 22>("Q5_0", 6, PanelFormat::kQ5_0);
constexpr BlockFormat kQ5_1 = Quantized<ReadQ5_1, 32, 24>("Q5_1", 7, PanelFormat::kQ5_1);

}  // namespace weft::blocks
