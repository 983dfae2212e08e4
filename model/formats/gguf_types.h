// The numbers that GGUF files write for tensor types (ggml's enumeration).
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/tensor.h"

namespace weft {

// The type that Weft computes with. Types that ggml knows and Weft does not compute with are
// refused by name, other numbers by number. The message is a clause for the caller to put a tensor
// before: "type Q2_K is not supported, expected one of F32, ...".
Result<DataType> DataTypeOfGgml(uint32_t number);

}  // namespace weft
