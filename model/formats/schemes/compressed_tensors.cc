// compressed-tensors (https://github.com/vllm-project/compressed-tensors): integers, packed along
// the columns into words ("pack-quantized"), or a byte each ("int-quantized", "naive-quantized").
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/checked_math.h"
#include "model/formats/schemes/integer_matrix.h"
#include "model/formats/schemes/scheme.h"

namespace weft::schemes {
namespace {

using ZeroPointReader = std::function<int32_t(int64_t row, int64_t group)>;

// For a tensor, each row, or each group of columns of each row.
Result<GroupValues> TakeGroupScales(Parts& parts, int64_t rows) {
  constexpr std::string_view kEnd = ".weight_scale";
  WEFT_ASSIGN_OR_RETURN(const TensorView scales, parts.Take(kEnd, kFloatTypes));
  if (scales.rank == 1 && scales.dims[0] == 1) return GroupValues{.tensor = scales};
  if (scales.rank == 2 && scales.dims[0] == rows) {
    return GroupValues{.tensor = scales, .row_step = scales.dims[1], .group_step = 1};
  }
  return parts.WrongShape(kEnd, scales, fmt::format("(1) or ({}, groups)", rows));
}

int64_t GroupCount(const GroupValues& scales) {
  return scales.group_step == 0 ? 1 : scales.tensor.dims[1];
}

// Columns of a group, of which a row has a whole number.
Result<int64_t> GroupColumns(const Parts& parts, const GroupValues& scales, int64_t columns) {
  const int64_t groups = GroupCount(scales);
  if (columns % groups == 0) return columns / groups;
  return parts.WrongShape(".weight_scale", scales.tensor,
                          fmt::format("a number of groups that divides {} columns", columns));
}

// Packed along the rows, or a byte each; absent where all are in the middle.
Result<ZeroPointReader> TakeZeroPoints(Parts& parts, const GroupValues& scales, int64_t rows,
                                       int64_t bits) {
  constexpr std::string_view kEnd = ".weight_zero_point";
  if (!parts.Has(kEnd)) return ZeroPointReader();
  WEFT_ASSIGN_OR_RETURN(const TensorView zeros, parts.Take(kEnd, {DataType::kI32, DataType::kI8}));
  const int64_t groups = GroupCount(scales);
  const int32_t middle = 1 << (bits - 1);
  if (zeros.type == DataType::kI32) {
    const int64_t codes_a_word = kWordBits / bits;
    const int64_t words = CeilDivide(rows, codes_a_word);
    if (zeros.rank != 2 || zeros.dims[0] != words || zeros.dims[1] != groups) {
      return parts.WrongShape(kEnd, zeros, fmt::format("({}, {})", words, groups));
    }
    return ZeroPointReader([=](int64_t row, int64_t group) {
      const uint32_t word = WordAt(zeros, row / codes_a_word * groups + group);
      return static_cast<int32_t>(word >> (row % codes_a_word * bits) & ((1U << bits) - 1));
    });
  }
  if (zeros.element_count() != scales.tensor.element_count()) {
    return parts.WrongShape(kEnd, zeros, "that of weight_scale");
  }
  const auto at = [=, row_step = scales.row_step](int64_t row, int64_t group) {
    return static_cast<int8_t>(zeros.data[row * row_step + group]) + middle;
  };
  // Version 0.9 and before wrote them where they are all zero, too.
  for (int64_t i = 0; i < zeros.element_count(); ++i) {
    if (zeros.data[i] != std::byte{0}) return ZeroPointReader(at);
  }
  return ZeroPointReader();
}

}  // namespace

Result<AssembledTensor> AssemblePacked(Parts& parts, const Config& /*config*/) {
  constexpr std::string_view kEnd = ".weight_packed";
  WEFT_ASSIGN_OR_RETURN(const TensorView words,
                        parts.Take(kEnd, {DataType::kI32}, {Parts::kAny, Parts::kAny}));
  WEFT_ASSIGN_OR_RETURN(const TensorView shape,
                        parts.Take(".weight_shape", {DataType::kI64, DataType::kI32}, {2}));
  const int64_t rows = words.dims[0];
  const auto said = [&](int64_t i) {
    return shape.type == DataType::kI32
               ? static_cast<int64_t>(static_cast<int32_t>(WordAt(shape, i)))
               : static_cast<int64_t>(WordAt(shape, 2 * i) |
                                      static_cast<uint64_t>(WordAt(shape, 2 * i + 1)) << 32);
  };
  const int64_t columns = said(1);
  // Of codes whose width divides a word, as many as the words have room for.
  std::optional<int64_t> bits;
  for (const int64_t width : {4, 8, 2}) {
    const int64_t codes_a_word = kWordBits / width;
    const int64_t room = words.dims[1] * codes_a_word;
    if (columns > room - codes_a_word && columns <= room) bits = width;
  }
  if (said(0) != rows || columns < 1 || !bits) {
    return parts.WrongShape(
        kEnd, words,
        fmt::format("words of codes of 2, 4 or 8 bits of the ({}, {}) in weight_shape", said(0),
                    columns));
  }
  WEFT_ASSIGN_OR_RETURN(const GroupValues scales, TakeGroupScales(parts, rows));
  WEFT_ASSIGN_OR_RETURN(const int64_t group_columns, GroupColumns(parts, scales, columns));
  WEFT_ASSIGN_OR_RETURN(std::vector<int32_t> group_index,
                        TakeGroupIndex(parts, ".weight_g_idx", columns, group_columns));
  WEFT_ASSIGN_OR_RETURN(ZeroPointReader zero_point, TakeZeroPoints(parts, scales, rows, *bits));
  const auto width = static_cast<int>(*bits);
  IntegerMatrix matrix = {.rows = rows,
                          .columns = columns,
                          .bits = width,
                          .read_codes =
                              [=](int64_t row, uint8_t* codes) {
                                UnpackBits(words.data + row * words.strides_bytes[0], columns,
                                           width, codes);
                              },
                          .group_columns = group_columns,
                          .group_index = std::move(group_index),
                          .scales = scales,
                          .zero_point = std::move(zero_point)};
  return AssembleIntegers(std::move(matrix), 0, parts.views());
}

Result<AssembledTensor> AssembleInt8(Parts& parts, const Config& /*config*/) {
  WEFT_ASSIGN_OR_RETURN(const TensorView weight,
                        parts.Take(".weight", {DataType::kI8}, {Parts::kAny, Parts::kAny}));
  const int64_t columns = weight.dims[1];
  WEFT_ASSIGN_OR_RETURN(const GroupValues scales, TakeGroupScales(parts, weight.dims[0]));
  WEFT_ASSIGN_OR_RETURN(const int64_t group_columns, GroupColumns(parts, scales, columns));
  WEFT_ASSIGN_OR_RETURN(ZeroPointReader zero_point,
                        TakeZeroPoints(parts, scales, weight.dims[0], 8));
  IntegerMatrix matrix = {.rows = weight.dims[0],
                          .columns = columns,
                          .bits = 8,
                          .read_codes = ReadSignedBytes(weight),
                          .group_columns = group_columns,
                          .scales = scales,
                          .zero_point = std::move(zero_point)};
  return AssembleIntegers(std::move(matrix), 0, parts.views());
}

}  // namespace weft::schemes
