// Integers under scales, which most schemes come to, whatever the order of their bits.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/formats/schemes/scheme.h"

namespace weft::schemes {

// Of the words that schemes pack codes into.
inline constexpr int64_t kWordBits = 32;

// One float for each group of columns of each row.
struct GroupValues {
  TensorView tensor;       // F32, F16 or BF16
  int64_t row_step = 0;    // elements from a row's to the next's
  int64_t group_step = 0;  // likewise of groups
  float factor = 1;        // what those of INT8_F32 are multiplied with

  explicit operator bool() const { return tensor.data != nullptr; }
  const std::byte* At(int64_t row, int64_t group) const;
  float operator()(int64_t row, int64_t group) const;
};

// Weights (code - zero point) * scale, or code * scale + bias.
struct IntegerMatrix {
  int64_t rows = 0;
  int64_t columns = 0;
  int bits = 0;  // of a code, at most 8
  // Writes a row's codes, 0 .. 2^bits - 1, a byte each.
  std::function<void(int64_t row, uint8_t* codes)> read_codes;
  int64_t group_columns = 0;              // neighbours that share a scale
  std::vector<int32_t> group_index = {};  // if they are no neighbours: the group of each column
  GroupValues scales = {};
  GroupValues biases = {};
  // Where there are no biases; none: 2^(bits - 1).
  std::function<int32_t(int64_t row, int64_t group)> zero_point = {};
};

// In the type of the least bits that says the same: blocks of 4 or 8 bits, or, where groups are not
// made of whole blocks of neighbours and for other widths of codes, float32; where neighbours in
// another order are, with that one beside it (AssembledTensor::ordered). `count` > 0: a stack of as
// many matrices, whose rows are counted through.
AssembledTensor AssembleIntegers(IntegerMatrix matrix, int64_t count,
                                 std::vector<TensorView> parts);

// `count` codes of `bits` bits, the lowest bits of the first byte first.
void UnpackBits(const std::byte* packed, int64_t count, int bits, uint8_t* codes);

// What reads the codes of a matrix of signed bytes, which must outlive it.
std::function<void(int64_t row, uint8_t* codes)> ReadSignedBytes(const TensorView& matrix);

// IntegerMatrix::group_index of a tensor with the group of each column, I32; empty where neighbours
// share groups, as they do where the layer has no such tensor. Whoever quantises columns in another
// order ("act-order") has groups that are no neighbours.
Result<std::vector<int32_t>> TakeGroupIndex(Parts& parts, std::string_view end, int64_t columns,
                                            int64_t group_columns);

// Element `index` of a tensor of 32-bit integers, which may lie at any address.
uint32_t WordAt(const TensorView& tensor, int64_t index);

}  // namespace weft::schemes
