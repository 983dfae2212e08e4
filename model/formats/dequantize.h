// From a file's bytes to float32: the scalar definition of every type, expression for expression
// ggml's.
#pragma once

#include <cstdint>

#include "model/tensor.h"

namespace weft {

float HalfToFloat(uint16_t bits);
float BFloat16ToFloat(uint16_t bits);
// Round to nearest, ties to even; NaN stays NaN (quiet). Denormals are not flushed here.
uint16_t FloatToBFloat16(float value);

// out[0 .. columns) from one row in the file's format. columns is a multiple of the type's block.
void DequantizeRow(DataType type, const std::byte* row, int64_t columns, float* out);

}  // namespace weft
