// What rows of safetensors are put together to (model/formats/schemes/) whose codes stand for
// floats, each format's own, under scales in float32. No file holds such blocks, and so their
// layout is Weft's alone.
#include "model/formats/blocks/block_bytes.h"

namespace weft::blocks {
namespace {

// float32 d; e4m3 q[32]: d * q
void ReadFP8(const std::byte* block, int64_t /*group*/, WeightGroup& out) {
  std::memcpy(out.scale, block, 4);
  std::memcpy(out.codes, block + 4, 32);
}

// float32 d; nibbles q[32]: d * table[q]
void ReadTable4(const std::byte* block, int64_t /*group*/, WeightGroup& out) {
  std::memcpy(out.scale, block, 4);
  ReadNibbles(block + 4, out);
}

}  // namespace

constexpr BlockFormat kFP8_F32 =
    Quantized<ReadFP8, 32, 36>("FP8_F32", std::nullopt, PanelFormat::kFP8_F32);
constexpr BlockFormat kNF4_F32 =
    Quantized<ReadTable4, 32, 20>("NF4_F32", std::nullopt, PanelFormat::kNF4_F32);
constexpr BlockFormat kFP4_F32 =
    Quantized<ReadTable4, 32, 20>("FP4_F32", std::nullopt, PanelFormat::kFP4_F32);

}  // namespace weft::blocks
