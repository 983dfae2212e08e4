// What a tensor's bytes are, and where they lie. Nothing here owns memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft {

using TokenId = int32_t;

// Element types of a model file. Names and block formats are ggml's.
enum class DataType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kMXFP4,
  // Bytes. By themselves they are no weights, but safetensors keep MXFP4's codes and scales in a
  // tensor of bytes each.
  kU8,
  // Indices that checkpoints keep beside their weights, such as BERT's position_ids.
  kI64,
};
inline constexpr int kDataTypeCount = 14;
inline constexpr int kWeightTypeCount = 12;  // those before kU8, which Weft computes with

struct DataTypeTraits {
  std::string_view name;   // as model files and people write it: "Q4_K"
  int64_t block_elements;  // consecutive elements of a row that share one block; 1 for plain types
  int64_t block_bytes;
};
const DataTypeTraits& TraitsOf(DataType type);
inline bool IsWeight(DataType type) { return static_cast<int>(type) < kWeightTypeCount; }
inline bool IsQuantized(DataType type) { return TraitsOf(type).block_elements > 1; }

// Bytes of a row of `columns` elements; columns must be a multiple of the block (checked by the
// loaders).
int64_t RowBytes(DataType type, int64_t columns);

// A view of up to four dimensions, outermost first: a matrix is (rows = outputs, columns = inputs),
// a stack of experts (experts, rows, columns). Elements of the last dimension are contiguous (in
// blocks, if quantised). An absent optional tensor is a view with data == nullptr.
struct TensorView {
  const std::byte* data = nullptr;
  DataType type = DataType::kF32;
  int rank = 0;
  std::array<int64_t, 4> dims = {};  // dims[0] is the outermost
  std::array<int64_t, 4> strides_bytes =
      {};  // bytes from one index of dims[i] to the next; unused for the last

  // A contiguous view.
  static TensorView Contiguous(const std::byte* data, DataType type, std::span<const int64_t> dims);
  static TensorView Contiguous(const std::byte* data, DataType type,
                               std::initializer_list<int64_t> dims);

  explicit operator bool() const { return data != nullptr; }
  int64_t columns() const { return dims[static_cast<size_t>(rank - 1)]; }
  int64_t rows() const { return rank < 2 ? 1 : dims[static_cast<size_t>(rank - 2)]; }
  int64_t element_count() const;
  int64_t size_bytes() const;  // of a contiguous view
  // The sub-tensor at `index` of the outermost dimension.
  TensorView operator[](int64_t index) const;
};

}  // namespace weft
