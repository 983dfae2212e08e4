// A plain quantiser for tests: the simplest that a reader of the block formats would write. Better
// ones search for scales; the accuracy of an arithmetic on given weights does not depend on how
// these were found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/tensor.h"

namespace weft {

// The bytes of one row in a file's format; the inverse of DequantizeRow but for rounding.
// row.size() is a multiple of the type's block; values are finite, scales within half precision.
std::vector<std::byte> QuantizeRow(DataType type, std::span<const float> row);

// The bytes of a GGUF file that says what `source`, one such file, says, with its matrices in
// another type: all whose columns are a multiple of the type's block, but for routers, which
// engines want in float32. The others keep the type they have. `general.file_type` is left out.
// Throws std::runtime_error.
std::vector<std::byte> RequantizeGguf(std::span<const std::byte> source, DataType type);

// Of the elements of a model file's matrices, the share that RequantizeGguf changes to this type.
double ShareThatFits(std::span<const std::byte> source, DataType type);

}  // namespace weft
