// From float32 to a file's bytes: what is quantised while it is loaded.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

// Round to nearest, ties to even; what is beyond half precision is infinite, NaN stays NaN.
uint16_t FloatToHalf(float value);

// The bytes of a row of Q8_0, as ggml makes them: of every 32 elements the largest magnitude / 127
// is the scale, an element times 1 / scale, rounded to nearest, ties away from zero, its code; the
// scale is kept in half precision. Codes are zero where it is zero there, and where it is not
// finite: an element is not, or is beyond 8.3 million. `columns` is a multiple of 32.
void QuantizeRowQ8_0(const float* x, int64_t columns, std::byte* out);

}  // namespace weft
