#include "model/formats/blocks/block_bytes.h"

namespace weft::blocks {
namespace {

// half d; nibbles q[32], which stand for integers in a table
void ReadIQ4_NL(const std::byte* block, int64_t /*group*/, WeightGroup& out) {
  std::memcpy(out.scale, block, 2);
  ReadNibbles(block + 2, out);
}

// half d; the scales' two high bits [8]; their four low ones [8]; nibbles q[256]. Each 16 bytes of
// nibbles are a group; 32 stands for a scale of zero.
void ReadIQ4_XS(const std::byte* block, int64_t group, WeightGroup& out) {
  out.d = LoadAt<uint16_t>(block);
  const int high = LoadAt<uint16_t>(block + 2) >> (2 * group) & 3;
  const int low = ByteAt(block + 4, group / 2) >> (group % 2 * 4) & 15;
  out.scale[0] = static_cast<uint8_t>((low | high << 4) - 32);
  ReadNibbles(block + 8 + 16 * group, out);
}

}  // namespace

constexpr BlockFormat kIQ4_NL = Quantized<ReadIQ4_NL, 32, 18>("IQ4_NL", 20, PanelFormat::kIQ4_NL);
constexpr BlockFormat kIQ4_XS = Quantized<ReadIQ4_XS, 256, 136>("IQ4_XS", 23, PanelFormat::kIQ4_XS);

}  // namespace weft::blocks
