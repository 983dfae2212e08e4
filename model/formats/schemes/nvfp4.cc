// NVFP4 as compressed-tensors and ModelOpt have it: e2m1 in nibbles, the first of a byte in its low
// one, under an e4m3 for each 16 columns and a float32 for all, by which compressed-tensors divides
// and with which ModelOpt multiplies.
#include <cstring>

#include "base/checked_math.h"
#include "model/formats/dequantize.h"
#include "model/formats/schemes/integer_matrix.h"
#include "model/formats/schemes/scheme.h"

namespace weft::schemes {

Result<AssembledTensor> AssembleNvfp4(Parts& parts, const Config& /*config*/) {
  constexpr int64_t kGroup = 16;
  const bool divides = parts.Has(".weight_packed");
  WEFT_ASSIGN_OR_RETURN(const TensorView codes,
                        parts.Take(divides ? ".weight_packed" : ".weight", {DataType::kU8},
                                   {Parts::kAny, Parts::kAny}));
  const int64_t rows = codes.dims[0];
  const int64_t columns = 2 * codes.dims[1];
  WEFT_ASSIGN_OR_RETURN(const TensorView scales, parts.Take(".weight_scale", {DataType::kF8_E4M3},
                                                            {rows, CeilDivide(columns, kGroup)}));
  WEFT_ASSIGN_OR_RETURN(
      const TensorView global,
      parts.Take(divides ? ".weight_global_scale" : ".weight_scale_2", {DataType::kF32}, {1}));
  float of_all = 0;
  DequantizeRow(global.type, global.data, 1, &of_all);
  const auto scale_of = [=](int64_t row, int64_t column) {
    float scale = 0;
    DequantizeRow(scales.type, scales.data + row * scales.dims[1] + column / kGroup, 1, &scale);
    return divides ? scale / of_all : scale * of_all;
  };
  AssembledTensor tensor;
  tensor.parts = parts.views();
  if (columns % kBlockColumns == 0) {
    tensor.view = TensorView::Contiguous(codes.data, DataType::kNVFP4_F32, {rows, columns});
    tensor.read_row = [=](int64_t row, std::byte* out) {
      const std::byte* packed = codes.data + row * codes.dims[1];
      for (int64_t k = 0; k < columns; k += kBlockColumns, packed += kBlockColumns / 2) {
        // A block's codes are doubled, so that they are integers.
        const float half_scales[] = {scale_of(row, k) * 0.5F, scale_of(row, k + kGroup) * 0.5F};
        uint8_t block[kBlockColumns];
        UnpackBits(packed, kBlockColumns, 4, block);
        std::memcpy(out, half_scales, sizeof(half_scales));
        PackNibbles(block, out + sizeof(half_scales));
        out += sizeof(half_scales) + kBlockColumns / 2;
      }
    };
    return tensor;
  }
  tensor.view = TensorView::Contiguous(codes.data, DataType::kF32, {rows, columns});
  tensor.read_row = [=](int64_t row, std::byte* out) {
    constexpr float kValues[8] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    for (int64_t k = 0; k < columns; ++k) {
      const auto both = static_cast<uint8_t>(codes.data[row * codes.dims[1] + k / 2]);
      const int code = both >> (k % 2 * 4) & 15;
      const float value = (code < 8 ? kValues[code] : -kValues[code - 8]) * scale_of(row, k);
      std::memcpy(out + k * static_cast<int64_t>(sizeof(value)), &value, sizeof(value));
    }
  };
  return tensor;
}

}  // namespace weft::schemes
