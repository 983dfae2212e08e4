#include "model/formats/tensor_layout.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/ranges.h>

#include "base/checked_math.h"
#include "base/quoted.h"

namespace weft {

Result<uint64_t> CheckedTensorBytes(DataType type, std::span<const uint64_t> dims) {
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const DataTypeTraits& traits = TraitsOf(type);
  const auto block_elements = static_cast<uint64_t>(traits.block_elements);
  std::optional<uint64_t> elements = 1;
  for (const uint64_t dim : dims) {
    if (dim == 0) {
      return Fail(ErrorCode::kCorrupt, "shape [{}] has a dimension of 0, expected at least 1",
                  fmt::join(dims, ", "));
    }
    elements = elements ? CheckedMultiply(*elements, dim) : std::nullopt;
  }
  if (!elements || *elements > kMax) {
    return Fail(ErrorCode::kCorrupt, "shape [{}] has 2^63 elements or more, expected fewer",
                fmt::join(dims, ", "));
  }
  if (dims.back() % block_elements != 0) {
    return Fail(ErrorCode::kCorrupt,
                "shape [{}] has rows of {} elements, expected a multiple of {} for type {}",
                fmt::join(dims, ", "), dims.back(), block_elements, traits.name);
  }
  const std::optional<uint64_t> size_bytes =
      CheckedMultiply(*elements / block_elements, static_cast<uint64_t>(traits.block_bytes));
  if (!size_bytes || *size_bytes > kMax) {
    return Fail(ErrorCode::kCorrupt, "shape [{}] of type {} has 2^63 bytes or more, expected fewer",
                fmt::join(dims, ", "), traits.name);
  }
  return *size_bytes;
}

Result<void> CheckNoOverlap(const std::string& path, std::vector<DataExtent> extents) {
  std::sort(extents.begin(), extents.end(),
            [](const DataExtent& a, const DataExtent& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < extents.size(); ++i) {
    const DataExtent& before = extents[i - 1];
    const DataExtent& after = extents[i];
    if (after.begin < before.end) {
      return Fail(ErrorCode::kCorrupt,
                  "{}: tensor {}: offset {} lies inside tensor {}, expected {} or more", path,
                  Quoted(after.name), after.begin, Quoted(before.name), before.end);
    }
  }
  return {};
}

}  // namespace weft
