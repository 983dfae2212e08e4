#include "model/formats/schemes/integer_matrix.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "base/checked_math.h"
#include "model/formats/dequantize.h"

namespace weft::schemes {
namespace {

DataType TypeOf(const IntegerMatrix& matrix) {
  const DataType scale = matrix.scales.tensor.type;
  const bool has_blocks = matrix.group_index.empty() && matrix.columns % kBlockColumns == 0 &&
                          matrix.group_columns % kBlockColumns == 0;
  if (!has_blocks) return DataType::kF32;
  if (matrix.bits == 4 && matrix.biases) {
    if (matrix.biases.tensor.type != scale) return DataType::kF32;
    if (scale == DataType::kF16) return DataType::kQ4_1;
    if (scale == DataType::kBF16) return DataType::kAFFINE4_BF16;
  } else if (matrix.bits == 4) {
    if (scale == DataType::kF16) return matrix.zero_point ? DataType::kINT4_F16 : DataType::kQ4_0;
    if (scale == DataType::kBF16) return DataType::kINT4_BF16;
  } else if (matrix.bits == 8 && !matrix.biases && !matrix.zero_point) {
    return scale == DataType::kF16 ? DataType::kQ8_0 : DataType::kINT8_F32;
  }
  return DataType::kF32;
}

int32_t ZeroPoint(const IntegerMatrix& matrix, int64_t row, int64_t group) {
  return matrix.zero_point ? matrix.zero_point(row, group) : 1 << (matrix.bits - 1);
}

void WriteValues(const IntegerMatrix& matrix, int64_t row, const uint8_t* codes, std::byte* out) {
  for (int64_t k = 0; k < matrix.columns; ++k) {
    const int64_t group = matrix.group_index.empty() ? k / matrix.group_columns
                                                     : matrix.group_index[static_cast<size_t>(k)];
    const float scale = matrix.scales(row, group);
    const int32_t code = codes[k];
    const float value = matrix.biases
                            ? scale * static_cast<float>(code) + matrix.biases(row, group)
                            : scale * static_cast<float>(code - ZeroPoint(matrix, row, group));
    std::memcpy(out + k * static_cast<int64_t>(sizeof(value)), &value, sizeof(value));
  }
}

// A scale, what is added or taken away, codes: as model/formats/blocks/ has them.
void WriteBlock(const IntegerMatrix& matrix, DataType type, int64_t row, int64_t group,
                const uint8_t* codes, std::byte* out) {
  if (type == DataType::kINT8_F32) {
    const float scale = matrix.scales(row, group);
    std::memcpy(out, &scale, sizeof(scale));
    out += sizeof(scale);
  } else {
    std::memcpy(out, matrix.scales.At(row, group), 2);
    out += 2;
  }
  if (matrix.bits == 8) {
    for (int64_t k = 0; k < kBlockColumns; ++k) out[k] = static_cast<std::byte>(codes[k] ^ 0x80);
    return;
  }
  if (matrix.biases) {
    std::memcpy(out, matrix.biases.At(row, group), 2);
    out += 2;
  } else if (type != DataType::kQ4_0) {
    *out++ = static_cast<std::byte>(ZeroPoint(matrix, row, group));
  }
  PackNibbles(codes, out);
}

void WriteRow(const IntegerMatrix& matrix, DataType type, int64_t row, std::byte* out) {
  std::vector<uint8_t> codes(static_cast<size_t>(matrix.columns));
  matrix.read_codes(row, codes.data());
  if (type == DataType::kF32) return WriteValues(matrix, row, codes.data(), out);
  const int64_t block_bytes = TraitsOf(type).block_bytes;
  for (int64_t k = 0; k < matrix.columns; k += kBlockColumns, out += block_bytes) {
    WriteBlock(matrix, type, row, k / matrix.group_columns, codes.data() + k, out);
  }
}

// The columns by their groups; empty: groups are not all of as many.
std::vector<int32_t> OrderByGroup(const IntegerMatrix& matrix) {
  std::vector<int32_t> order(static_cast<size_t>(matrix.columns));
  std::iota(order.begin(), order.end(), 0);
  const auto group_of = [&](int32_t column) {
    return matrix.group_index[static_cast<size_t>(column)];
  };
  std::ranges::stable_sort(order, {}, group_of);
  for (int64_t i = 0; i < matrix.columns; ++i) {
    if (group_of(order[static_cast<size_t>(i)]) != i / matrix.group_columns) return {};
  }
  return order;
}

AssembledTensor MakeTensor(IntegerMatrix matrix, int64_t count, std::vector<TensorView> parts) {
  const DataType type = TypeOf(matrix);
  WEFT_CHECK(!parts.empty() && matrix.bits >= 1 && matrix.bits <= 8);
  AssembledTensor tensor;
  const std::byte* const data = parts.front().data;
  tensor.view =
      count > 0 ? TensorView::Contiguous(data, type, {count, matrix.rows / count, matrix.columns})
                : TensorView::Contiguous(data, type, {matrix.rows, matrix.columns});
  tensor.parts = std::move(parts);
  tensor.read_row = [matrix = std::move(matrix), type](int64_t row, std::byte* out) {
    WriteRow(matrix, type, row, out);
  };
  return tensor;
}

// With its columns by their groups; nullptr: that is not worth it.
std::shared_ptr<const AssembledTensor> AssembleOrdered(const IntegerMatrix& matrix,
                                                       const std::vector<TensorView>& parts) {
  std::vector<int32_t> order = OrderByGroup(matrix);
  if (order.empty()) return nullptr;
  IntegerMatrix ordered = matrix;
  ordered.group_index.clear();
  ordered.read_codes = [read_codes = matrix.read_codes, order](int64_t row, uint8_t* codes) {
    std::vector<uint8_t> stored(order.size());
    read_codes(row, stored.data());
    for (size_t i = 0; i < order.size(); ++i) codes[i] = stored[static_cast<size_t>(order[i])];
  };
  AssembledTensor tensor = MakeTensor(std::move(ordered), 0, parts);
  if (!IsQuantized(tensor.view.type)) return nullptr;
  tensor.column_order = std::move(order);
  return std::make_shared<const AssembledTensor>(std::move(tensor));
}

}  // namespace

const std::byte* GroupValues::At(int64_t row, int64_t group) const {
  return tensor.data + (row * row_step + group * group_step) * TraitsOf(tensor.type).block_bytes;
}

float GroupValues::operator()(int64_t row, int64_t group) const {
  float value = 0;
  DequantizeRow(tensor.type, At(row, group), 1, &value);
  return value * factor;
}

AssembledTensor AssembleIntegers(IntegerMatrix matrix, int64_t count,
                                 std::vector<TensorView> parts) {
  const std::shared_ptr<const AssembledTensor> ordered =
      matrix.group_index.empty() || count > 0 ? nullptr : AssembleOrdered(matrix, parts);
  AssembledTensor tensor = MakeTensor(std::move(matrix), count, std::move(parts));
  tensor.ordered = ordered;
  return tensor;
}

void UnpackBits(const std::byte* packed, int64_t count, int bits, uint8_t* codes) {
  const uint32_t mask = (1U << bits) - 1;
  uint32_t waiting = 0;  // bits that were read and not given out yet
  int waiting_bits = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (waiting_bits < bits) {
      waiting |= static_cast<uint32_t>(*packed++) << waiting_bits;
      waiting_bits += 8;
    }
    codes[i] = static_cast<uint8_t>(waiting & mask);
    waiting >>= bits;
    waiting_bits -= bits;
  }
}

std::function<void(int64_t row, uint8_t* codes)> ReadSignedBytes(const TensorView& matrix) {
  return [matrix](int64_t row, uint8_t* codes) {
    const std::byte* const bytes = matrix.data + row * matrix.strides_bytes[0];
    for (int64_t k = 0; k < matrix.columns(); ++k) {
      codes[k] = static_cast<uint8_t>(bytes[k] ^ std::byte{0x80});
    }
  };
}

Result<std::vector<int32_t>> TakeGroupIndex(Parts& parts, std::string_view end, int64_t columns,
                                            int64_t group_columns) {
  std::vector<int32_t> groups;
  if (!parts.Has(end)) return groups;
  WEFT_ASSIGN_OR_RETURN(const TensorView index, parts.Take(end, {DataType::kI32}, {columns}));
  const int64_t last = CeilDivide(columns, group_columns) - 1;
  bool are_neighbours = true;
  for (int64_t k = 0; k < columns; ++k) {
    const int64_t group = WordAt(index, k);
    if (group > last) {
      return parts.Corrupt(
          end, fmt::format("has group {} for column {}, expected 0 to {}", group, k, last));
    }
    are_neighbours &= group == k / group_columns;
    groups.push_back(static_cast<int32_t>(group));
  }
  if (are_neighbours) groups.clear();
  return groups;
}

uint32_t WordAt(const TensorView& tensor, int64_t index) {
  uint32_t word;
  std::memcpy(&word, tensor.data + index * static_cast<int64_t>(sizeof(word)), sizeof(word));
  return word;
}

}  // namespace weft::schemes
