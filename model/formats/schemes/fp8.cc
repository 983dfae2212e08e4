// Weights of 8-bit floats (OCP's e4m3) under scales of a tensor, a row, a group of columns or a
// block: as transformers' "fp8" (DeepSeek-V3, Qwen3), compressed-tensors' "float-quantized",
// "fbgemm_fp8" and ModelOpt have them. What quantises activations with them is left out: Weft
// computes with activations in its own way.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/checked_math.h"
#include "model/formats/dequantize.h"
#include "model/formats/schemes/scheme.h"

namespace weft::schemes {
namespace {

// A scale's rows and columns.
struct Block {
  int64_t rows = 0;
  int64_t columns = 0;
};

// As config.json says, if it does.
std::optional<Block> BlockOf(const Config& config) {
  for (const char* key : {"weight_block_size", "config_groups.group_0.weights.block_structure"}) {
    const std::vector<int64_t> sizes = config.Ints(key);
    const auto is_size = [](int64_t size) { return size > 0 && size <= ConfigLimits::kWidth; };
    if (sizes.size() == 2 && std::ranges::all_of(sizes, is_size)) return Block{sizes[0], sizes[1]};
  }
  return std::nullopt;
}

// What a scale of `scales` stands for in a matrix of (rows, columns); nullopt: they do not fit.
std::optional<Block> BlockOf(const TensorView& scales, const Config& config, int64_t rows,
                             int64_t columns) {
  const std::optional<Block> block = BlockOf(config);
  if (scales.element_count() == 1 && !(block && scales.rank == 2)) return Block{rows, columns};
  if (scales.rank == 1 && scales.dims[0] == rows) return Block{1, columns};
  if (scales.rank != 2) return std::nullopt;
  if (block && scales.dims[0] == CeilDivide(rows, block->rows) &&
      scales.dims[1] == CeilDivide(columns, block->columns)) {
    return block;
  }
  if (scales.dims[0] == rows && columns % scales.dims[1] == 0) {
    return Block{1, columns / scales.dims[1]};
  }
  return std::nullopt;
}

}  // namespace

Result<AssembledTensor> AssembleFp8(Parts& parts, const Config& config) {
  WEFT_ASSIGN_OR_RETURN(const TensorView codes,
                        parts.Take(".weight", {DataType::kF8_E4M3}, {Parts::kAny, Parts::kAny}));
  const int64_t rows = codes.dims[0];
  const int64_t columns = codes.dims[1];
  // What is called an inverse is multiplied with, too.
  const std::string_view end =
      parts.Has(".weight_scale_inv") ? ".weight_scale_inv" : ".weight_scale";
  WEFT_ASSIGN_OR_RETURN(
      const TensorView scales,
      parts.Take(end, {DataType::kF32, DataType::kBF16, DataType::kF16, DataType::kF8_E8M0}));
  const std::optional<Block> block = BlockOf(scales, config, rows, columns);
  if (!block) {
    return parts.WrongShape(
        end, scales,
        fmt::format("(1), ({}, 1), or the blocks of weight_block_size in ({}, {})", rows, rows,
                    columns));
  }
  AssembledTensor tensor;
  tensor.parts = parts.views();
  const int64_t scale_columns = CeilDivide(columns, block->columns);
  const int64_t scale_bytes = TraitsOf(scales.type).block_bytes;
  const auto scale_of = [=, block = *block](int64_t row, int64_t column) {
    float scale = 0;
    const int64_t at = row / block.rows * scale_columns + column / block.columns;
    DequantizeRow(scales.type, scales.data + at * scale_bytes, 1, &scale);
    return scale;
  };
  const bool has_blocks =
      columns % kBlockColumns == 0 && std::min(columns, block->columns) % kBlockColumns == 0;
  if (has_blocks) {
    tensor.view = TensorView::Contiguous(codes.data, DataType::kFP8_F32, {rows, columns});
    tensor.read_row = [=](int64_t row, std::byte* out) {
      for (int64_t k = 0; k < columns; k += kBlockColumns) {
        const float scale = scale_of(row, k);
        std::memcpy(out, &scale, sizeof(scale));
        std::memcpy(out + sizeof(scale), codes.data + row * columns + k, kBlockColumns);
        out += sizeof(scale) + kBlockColumns;
      }
    };
    return tensor;
  }
  tensor.view = TensorView::Contiguous(codes.data, DataType::kF32, {rows, columns});
  tensor.read_row = [=](int64_t row, std::byte* out) {
    for (int64_t k = 0; k < columns; ++k) {
      float value = 0;
      DequantizeRow(codes.type, codes.data + row * columns + k, 1, &value);
      value *= scale_of(row, k);
      std::memcpy(out + k * static_cast<int64_t>(sizeof(value)), &value, sizeof(value));
    }
  };
  return tensor;
}

}  // namespace weft::schemes
