// What rows of quantised safetensors are put together to (model/formats/schemes/): codes as those
// have them, integers or those of formats of floats, under scales in the types that those have. No
// file holds such blocks, and so their layout is Weft's alone.
#include "model/formats/blocks/block_bytes.h"

namespace weft::blocks {
namespace {

// half or bf16 d; uint8 zero; nibbles q[32]: d * (q - zero)
void ReadInt4(const std::byte* block, int64_t /*group*/, WeightGroup& out) {
  std::memcpy(out.scale, block, 2);
  std::memcpy(out.minimum, block + 2, 1);
  ReadNibbles(block + 3, out);
}

// bf16 d, m; nibbles q[32]: d * q + m
void ReadAffine4(const std::byte* block, int64_t /*group*/, WeightGroup& out) {
  std::memcpy(out.scale, block, 2);
  std::memcpy(out.minimum, block + 2, 2);
  ReadNibbles(block + 4, out);
}

// float32 d; q[32], each an int8 or an e4m3: d * q
void ReadBytes(const std::byte* block, int64_t /*group*/, WeightGroup& out) {
  std::memcpy(out.scale, block, 4);
  std::memcpy(out.codes, block + 4, 32);
}

// float32 d; nibbles q[32]: d * table[q]
void ReadTable4(const std::byte* block, int64_t /*group*/, WeightGroup& out) {
  std::memcpy(out.scale, block, 4);
  ReadNibbles(block + 4, out);
}

// float32 d[2]; nibbles q[32], each an e2m1, doubled: d[k / 16] * q
void ReadHalves4(const std::byte* block, int64_t /*group*/, WeightGroup& out) {
  std::memcpy(out.scale, block, 8);
  ReadNibbles(block + 8, out);
}

}  // namespace

constexpr BlockFormat kINT4_F16 =
    Quantized<ReadInt4, 32, 19>("INT4_F16", std::nullopt, PanelFormat::kINT4_F16);
constexpr BlockFormat kINT4_BF16 =
    Quantized<ReadInt4, 32, 19>("INT4_BF16", std::nullopt, PanelFormat::kINT4_BF16);
constexpr BlockFormat kAFFINE4_BF16 =
    Quantized<ReadAffine4, 32, 20>("AFFINE4_BF16", std::nullopt, PanelFormat::kAFFINE4_BF16);
constexpr BlockFormat kINT8_F32 =
    Quantized<ReadBytes, 32, 36>("INT8_F32", std::nullopt, PanelFormat::kINT8_F32);
constexpr BlockFormat kNVFP4_F32 =
    Quantized<ReadHalves4, 32, 24>("NVFP4_F32", std::nullopt, PanelFormat::kNVFP4_F32);
constexpr BlockFormat kFP8_F32 =
    Quantized<ReadBytes, 32, 36>("FP8_F32", std::nullopt, PanelFormat::kFP8_F32);
constexpr BlockFormat kNF4_F32 =
    Quantized<ReadTable4, 32, 20>("NF4_F32", std::nullopt, PanelFormat::kNF4_F32);
constexpr BlockFormat kFP4_F32 =
    Quantized<ReadTable4, 32, 20>("FP4_F32", std::nullopt, PanelFormat::kFP4_F32);

}  // namespace weft::blocks
