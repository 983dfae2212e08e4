// GPTQ (https://arxiv.org/abs/2210.17323) as AutoGPTQ and GPTQModel write it: of a matrix (rows,
// columns) codes in words of 32 bits along the columns, transposed, and zero points along the rows.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/checked_math.h"
#include "base/quoted.h"
#include "model/formats/schemes/integer_matrix.h"
#include "model/formats/schemes/scheme.h"

namespace weft::schemes {

Result<AssembledTensor> AssembleGptq(Parts& parts, const Config& config) {
  const int64_t bits = config.Int("bits", 0);
  if (bits != 2 && bits != 4 && bits != 8) {
    return parts.Unsupported(fmt::format("GPTQ with bits = {}, expected 2, 4 or 8", bits));
  }
  const std::string format = config.String("checkpoint_format", config.String("format", "gptq"));
  if ((format != "gptq" && format != "gptq_v2") || config.Bool("is_marlin_format", false)) {
    return parts.Unsupported(
        fmt::format("GPTQ in format {}, expected gptq or gptq_v2", Quoted(format)));
  }
  const int64_t codes_a_word = kWordBits / bits;
  WEFT_ASSIGN_OR_RETURN(const TensorView words,
                        parts.Take(".qweight", {DataType::kI32}, {Parts::kAny, Parts::kAny}));
  const int64_t rows = words.dims[1];
  const int64_t columns = words.dims[0] * codes_a_word;
  const int64_t group_size = config.Int("group_size", -1);
  const int64_t group_columns = group_size > 0 ? std::min(group_size, columns) : columns;
  const int64_t group_count = CeilDivide(columns, group_columns);
  WEFT_ASSIGN_OR_RETURN(const TensorView scales,
                        parts.Take(".scales", kFloatTypes, {group_count, rows}));
  WEFT_ASSIGN_OR_RETURN(
      const TensorView zeros,
      parts.Take(".qzeros", {DataType::kI32}, {group_count, CeilDivide(rows, codes_a_word)}));
  WEFT_ASSIGN_OR_RETURN(std::vector<int32_t> group_index,
                        TakeGroupIndex(parts, ".g_idx", columns, group_columns));
  const uint32_t mask = (1U << bits) - 1;
  // The first format has them one too small.
  const int32_t plus = format == "gptq" ? 1 : 0;
  const auto zero_point = [=](int64_t row, int64_t group) {
    const uint32_t word = WordAt(zeros, group * zeros.dims[1] + row / codes_a_word);
    return static_cast<int32_t>(word >> (row % codes_a_word * bits) & mask) + plus;
  };
  IntegerMatrix matrix = {.rows = rows,
                          .columns = columns,
                          .bits = static_cast<int>(bits),
                          .read_codes =
                              [=](int64_t row, uint8_t* codes) {
                                for (int64_t k = 0; k < columns; k += codes_a_word) {
                                  const uint32_t word =
                                      WordAt(words, k / codes_a_word * rows + row);
                                  for (int64_t i = 0; i < codes_a_word; ++i) {
                                    codes[k + i] = static_cast<uint8_t>(word >> (i * bits) & mask);
                                  }
                                }
                              },
                          .group_columns = group_columns,
                          .group_index = std::move(group_index),
                          .scales = {.tensor = scales, .row_step = 1, .group_step = rows},
                          .zero_point = zero_point};
  // Symmetric ones have zero points, too, all in the middle: that is looked at, not believed.
  bool is_symmetric = config.Bool("sym", true);
  for (int64_t group = 0; group < group_count && is_symmetric; ++group) {
    for (int64_t row = 0; row < rows && is_symmetric; ++row) {
      is_symmetric = zero_point(row, group) == 1 << (bits - 1);
    }
  }
  if (is_symmetric) matrix.zero_point = nullptr;
  return AssembleIntegers(std::move(matrix), 0, parts.views());
}

}  // namespace weft::schemes
