// From float32 to a file's bytes: what is quantised while it is loaded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/tensor.h"

namespace weft {

// Round to nearest, ties to even; what is beyond half precision is infinite, NaN stays NaN.
uint16_t FloatToHalf(float value);

// The bytes of a row of Q8_0, as ggml makes them: of every 32 elements the largest magnitude / 127
// is the scale, an element times 1 / scale, rounded to nearest, ties away from zero, its code; the
// scale is kept in half precision. Codes are zero where it is zero there, and where it is not
// finite: an element is not, or is beyond 8.3 million. `columns` is a multiple of 32.
void QuantizeRowQ8_0(const float* x, int64_t columns, std::byte* out);

// The types that QuantizeRow makes: Q8_0, Q6_K, Q5_K, Q4_K, Q4_0.
bool HasQuantizer(DataType type);

// The bytes of a row of one of these types. Q8_0 as above; of the others each block's scales are
// searched for, so that the sum of squared errors is small. Codes are zero where a scale is zero in
// half precision, and where it is not finite: an element is not, or is too large for the type.
// `columns` is a multiple of the type's block.
void QuantizeRow(DataType type, const float* x, int64_t columns, std::byte* out);

}  // namespace weft
