// What a tensor's bytes are, and where they lie. Nothing here owns memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft {

using TokenId = int32_t;

// Element types of a model file: X(name) for each, defined in model/formats/blocks/. Names and
// block formats are ggml's; the quantised ones from INT4_F16 on are what rows of quantised
// safetensors are put together to (model/formats/schemes/), which no file has. Those of the last
// line are no weights by themselves: parts of such rows, and indices such as BERT's position_ids.
// clang-format off
#define WEFT_DATA_TYPES(X)                                                            \
  X(F32) X(F16) X(BF16)                                                               \
  X(Q8_0) X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q4_K) X(Q5_K) X(Q6_K) X(MXFP4)            \
  X(IQ4_NL) X(IQ4_XS) X(Q3_K) X(Q2_K) X(TQ2_0) X(TQ1_0)                               \
  X(IQ3_S) X(IQ3_XXS) X(IQ2_S) X(IQ2_XS) X(IQ2_XXS) X(IQ1_M) X(IQ1_S) X(NVFP4)        \
  X(INT4_F16) X(INT4_BF16) X(AFFINE4_BF16) X(INT8_F32)                                \
  X(NVFP4_F32) X(FP8_F32) X(NF4_F32) X(FP4_F32)                                       \
  X(U8) X(I8) X(I32) X(U32) X(I64) X(F8_E4M3) X(F8_E8M0)
// clang-format on

enum class DataType : uint8_t {
#define WEFT_DATA_TYPE(name) k##name,
  WEFT_DATA_TYPES(WEFT_DATA_TYPE)
#undef WEFT_DATA_TYPE
};
inline constexpr int kWeightTypeCount = static_cast<int>(DataType::kU8);  // Weft computes with
inline constexpr int kDataTypeCount = static_cast<int>(DataType::kF8_E8M0) + 1;

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
