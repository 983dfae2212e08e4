#include "model/formats/blocks/block_bytes.h"

namespace weft::blocks {
namespace {

// half d; int8 q[32]
void ReadQ8_0(const std::byte* block, int64_t /*group*/, WeightGroup& out) {
  std::memcpy(out.scale, block, 2);
  std::memcpy(out.codes, block + 2, 32);
}

}  // namespace

constexpr BlockFormat kQ8_0 = Quantized<ReadQ8_0, 32, 34>("Q8_0", 8, PanelFormat::kQ8_0);

}  // namespace weft::blocks
