// Checks of a tensor's size and place that both file formats share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tensor.h"

namespace weft {

// Bytes of a contiguous tensor. Every dimension must be at least 1, elements and bytes must stay
// below 2^63, and a row must be whole blocks. dims: outermost first, at least one. The message is a
// clause for the caller to put file and tensor before.
Result<uint64_t> CheckedTensorBytes(DataType type, std::span<const uint64_t> dims);

// Where a tensor's data lies in its file's data.
struct DataExtent {
  std::string_view name;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Each tensor has its own bytes: otherwise a small file could ask for any amount of memory.
Result<void> CheckNoOverlap(const std::string& path, std::vector<DataExtent> extents);

}  // namespace weft
