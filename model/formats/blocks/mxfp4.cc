#include "model/formats/blocks/block_bytes.h"

namespace weft::blocks {
namespace {

// exponent e; nibbles q[32], each an e2m1
void ReadMXFP4(const std::byte* block, int64_t /*group*/, WeightGroup& out) {
  out.scale[0] = ByteAt(block, 0);
  ReadNibbles(block + 1, out);
}

}  // namespace

constexpr BlockFormat kMXFP4 = Quantized<ReadMXFP4, 32, 17>("MXFP4", 39, PanelFormat::kMXFP4);

}  // namespace weft::blocks
