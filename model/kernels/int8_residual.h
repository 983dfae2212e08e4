// Residuals of int8 operands: what coding a row in 8 bits loses, it loses mostly in the few groups
// that have the largest elements beside small ones. Of the groups of a row, those with the largest
// scales, one in kGroupsPerResidual, are coded a second time: what rounding left of them is an
// Int8Group, too. docs/ACCURACY.md has what that is worth.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/kernels/kernels.h"

namespace weft {

inline constexpr int64_t kGroupsPerResidual = 20;

// The most residuals that a row has, without the one that ends them: one at least.
constexpr int64_t MostResiduals(int64_t columns) {
  const int64_t count = OperandGroups(columns) / kGroupsPerResidual;
  return count > 0 ? count : 1;
}

// What a row's residuals take, the one that ends them included.
constexpr int64_t ResidualBytes(int64_t columns) {
  return (MostResiduals(columns) + 1) * static_cast<int64_t>(sizeof(Int8Residual));
}

// Writes the residuals of a row of n elements, which kernels.to_operand has coded before into
// `groups`, `group_stride_bytes` apart; ResidualBytes(n). Of equal scales the first groups'; none
// of a group of zeros, or of one that is not finite. A residual codes x - code * scale, rounded
// twice.
void WriteResiduals(const KernelTable& kernels, const float* x, int64_t n, const std::byte* groups,
                    int64_t group_stride_bytes, std::byte* out);

}  // namespace weft
