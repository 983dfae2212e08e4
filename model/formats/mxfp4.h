// MXFP4, a type of the OCP Microscaling Formats, as safetensors have it: blocks of 32 elements, 4
// bits each (a sign, two bits of exponent, one of mantissa), under one scale, a power of two.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

// One row of blocks as in a GGUF file, of rows as safetensors have them: `codes`, 16 bytes a block,
// each with two neighbours, the first in its low half; `scales`, a byte a block. `columns`: a
// multiple of 32.
void JoinRowMXFP4(const std::byte* codes, const std::byte* scales, int64_t columns, std::byte* out);

}  // namespace weft
