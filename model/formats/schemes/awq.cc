// AWQ (https://arxiv.org/abs/2306.00978) as AutoAWQ's "gemm" has it: 4 bits, of a matrix (rows,
// columns) codes and zero points in words along the rows, transposed, eight rows a word in an order
// of their own.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/checked_math.h"
#include "base/quoted.h"
#include "model/formats/schemes/integer_matrix.h"
#include "model/formats/schemes/scheme.h"

namespace weft::schemes {
namespace {

constexpr int64_t kRowsAWord = 8;
// Which nibble of a word has the row.
constexpr int kNibble[kRowsAWord] = {0, 4, 1, 5, 2, 6, 3, 7};

uint32_t NibbleAt(const TensorView& words, int64_t line, int64_t row) {
  const uint32_t word = WordAt(words, line * words.dims[1] + row / kRowsAWord);
  return word >> (4 * kNibble[row % kRowsAWord]) & 15;
}

}  // namespace

Result<AssembledTensor> AssembleAwq(Parts& parts, const Config& config) {
  std::string version = config.String("version", config.String("format", "gemm"));
  for (char& c : version) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  const int64_t bits = config.Int("bits", 4);
  if (version != "gemm" || bits != 4) {
    return parts.Unsupported(fmt::format("AWQ in version {} with bits = {}, expected gemm with 4",
                                         Quoted(version), bits));
  }
  WEFT_ASSIGN_OR_RETURN(const TensorView words,
                        parts.Take(".qweight", {DataType::kI32}, {Parts::kAny, Parts::kAny}));
  const int64_t columns = words.dims[0];
  const int64_t rows = words.dims[1] * kRowsAWord;
  const int64_t group_size = config.Int("group_size", 128);
  const int64_t group_columns = group_size > 0 ? std::min(group_size, columns) : columns;
  const int64_t group_count = CeilDivide(columns, group_columns);
  WEFT_ASSIGN_OR_RETURN(const TensorView scales,
                        parts.Take(".scales", kFloatTypes, {group_count, rows}));
  std::function<int32_t(int64_t, int64_t)> zero_point;
  if (parts.Has(".qzeros")) {
    WEFT_ASSIGN_OR_RETURN(const TensorView zeros,
                          parts.Take(".qzeros", {DataType::kI32}, {group_count, words.dims[1]}));
    zero_point = [=](int64_t row, int64_t group) {
      return static_cast<int32_t>(NibbleAt(zeros, group, row));
    };
  }
  IntegerMatrix matrix = {.rows = rows,
                          .columns = columns,
                          .bits = 4,
                          .read_codes =
                              [=](int64_t row, uint8_t* codes) {
                                for (int64_t k = 0; k < columns; ++k) {
                                  codes[k] = static_cast<uint8_t>(NibbleAt(words, k, row));
                                }
                              },
                          .group_columns = group_columns,
                          .scales = {.tensor = scales, .row_step = 1, .group_step = rows},
                          .zero_point = std::move(zero_point)};
  return AssembleIntegers(std::move(matrix), 0, parts.views());
}

}  // namespace weft::schemes
