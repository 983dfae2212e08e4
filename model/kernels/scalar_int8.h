// Int8 operands, as the definition makes them. Products with them: scalar::MatmulInt8,
// isa_functions.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/kernels/kernels.h"

namespace weft::scalar {

void ToOperandInt8(const float* x, int64_t n, std::byte* out, int64_t group_stride_bytes);

}  // namespace weft::scalar
