// MLX's affine quantisation (https://github.com/ml-explore/mlx): codes of 2 to 8 bits along the
// columns, a scale and a bias for each group of them.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/quoted.h"
#include "model/formats/schemes/integer_matrix.h"
#include "model/formats/schemes/scheme.h"

namespace weft::schemes {

Result<AssembledTensor> AssembleMlx(Parts& parts, const Config& config) {
  // A layer may have its own.
  const auto option = [&](std::string_view key, int64_t fallback) {
    return config.Int(fmt::format("{}.{}", parts.layer(), key), config.Int(key, fallback));
  };
  const std::string mode = config.String(parts.layer() + ".mode", config.String("mode", "affine"));
  const int64_t bits = option("bits", 4);
  const int64_t group_columns = option("group_size", 64);
  if (mode != "affine" || bits < 2 || bits > 8 || group_columns < 1) {
    return parts.Unsupported(
        fmt::format("MLX's mode {} with bits = {} and group_size = {}, expected affine with 2 to 8",
                    Quoted(mode), bits, group_columns));
  }
  WEFT_ASSIGN_OR_RETURN(const TensorView words, parts.Take(".weight", {DataType::kU32}));
  if (words.rank != 2 && words.rank != 3) {
    return parts.WrongShape(".weight", words, "two dimensions, or three of experts");
  }
  const int64_t count = words.rank == 3 ? words.dims[0] : 0;
  const int64_t rows = words.rows() * std::max<int64_t>(count, 1);
  const int64_t columns = words.columns() * kWordBits / bits;
  if (columns * bits != words.columns() * kWordBits || columns % group_columns != 0) {
    return parts.WrongShape(
        ".weight", words,
        fmt::format("rows of whole groups of {} codes of {} bits", group_columns, bits));
  }
  const int64_t groups = columns / group_columns;
  const auto take = [&](std::string_view end) {
    return count > 0 ? parts.Take(end, kFloatTypes, {count, words.rows(), groups})
                     : parts.Take(end, kFloatTypes, {rows, groups});
  };
  WEFT_ASSIGN_OR_RETURN(const TensorView scales, take(".scales"));
  WEFT_ASSIGN_OR_RETURN(const TensorView biases, take(".biases"));
  const int64_t row_bytes = words.columns() * (kWordBits / 8);
  const auto width = static_cast<int>(bits);
  IntegerMatrix matrix = {.rows = rows,
                          .columns = columns,
                          .bits = width,
                          .read_codes =
                              [=](int64_t row, uint8_t* codes) {
                                UnpackBits(words.data + row * row_bytes, columns, width, codes);
                              },
                          .group_columns = group_columns,
                          .scales = {.tensor = scales, .row_step = groups, .group_step = 1},
                          .biases = {.tensor = biases, .row_step = groups, .group_step = 1}};
  return AssembleIntegers(std::move(matrix), count, parts.views());
}

}  // namespace weft::schemes
