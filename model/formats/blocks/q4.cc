#include "model/formats/blocks/block_bytes.h"

namespace weft::blocks {
namespace {

// half d; nibbles q[32], 8 stands for zero
void ReadQ4_0(const std::byte* block, int64_t /*group*/, WeightGroup& out) {
  std::memcpy(out.scale, block, 2);
  ReadNibbles(block + 2, out);
}

// half d, m; nibbles q[32]
void ReadQ4_1(const std::byte* block, int64_t /*group*/, WeightGroup& out) {
  std::memcpy(out.scale, block, 2);
  std::memcpy(out.minimum, block + 2, 2);
  ReadNibbles(block + 4, out);
}

}  // namespace

constexpr BlockFormat kQ4_0 = Quantized<ReadQ4_0, 32, 18>("Q4_0", 2, PanelFormat::kQ4_0);
constexpr BlockFormat kQ4_1 = Quantized<ReadQ4_1, 32, 20>("Q4_1", 3, PanelFormat::kQ4_1);

}  // namespace weft::blocks
