#include "model/kernels/int8_residual.h"

#include <algorithm>
#include <cstring>

#include "model/kernels/panel_layout.h"

namespace weft {
namespace {

Int8Group GroupAt(const std::byte* groups, int64_t stride_bytes, int64_t index) {
  Int8Group group;
  std::memcpy(&group, groups + index * stride_bytes, sizeof(group));
  return group;
}

// Into `residuals`, ascending, the groups with the largest scales: `most` of them, or fewer. How
// many.
int64_t ChooseGroups(const std::byte* groups, int64_t stride_bytes, int64_t group_count,
                     int64_t most, Int8Residual* residuals) {
  int64_t count = 0;
  for (int64_t group = 0; group < group_count; ++group) {
    float scale;
    std::memcpy(&scale, groups + group * stride_bytes + offsetof(Int8Group, scale), sizeof(scale));
    if (!(scale > 0)) continue;
    if (count == most && !(scale > residuals[most - 1].codes.scale)) continue;
    // Descending in scale, until all are known.
    int64_t place = count < most ? count++ : most - 1;
    for (; place > 0 && residuals[place - 1].codes.scale < scale; --place) {
      residuals[place].codes.scale = residuals[place - 1].codes.scale;
      residuals[place].group = residuals[place - 1].group;
    }
    residuals[place].codes.scale = scale;
    residuals[place].group = static_cast<int32_t>(group);
  }
  std::ranges::sort(residuals, residuals + count, {}, &Int8Residual::group);
  return count;
}

}  // namespace

void WriteResiduals(const KernelTable& kernels, const float* x, int64_t n, const std::byte* groups,
                    int64_t group_stride_bytes, std::byte* out) {
  auto* const residuals = reinterpret_cast<Int8Residual*>(out);
  const int64_t count =
      ChooseGroups(groups, group_stride_bytes, OperandGroups(n), MostResiduals(n), residuals);
  for (int64_t i = 0; i < count; ++i) {
    const Int8Group group = GroupAt(groups, group_stride_bytes, residuals[i].group);
    const int64_t first = residuals[i].group * kGroupColumns;
    const int64_t columns = std::min(kGroupColumns, n - first);
    float rest[kGroupColumns];
    for (int64_t k = 0; k < columns; ++k) {
      const auto code = static_cast<float>(group.codes[4 * QuadOf(k) + ByteOf(k)]);
      rest[k] = x[first + k] - code * group.scale;
    }
    kernels.to_operand(OperandType::kInt8, rest, columns,
                       reinterpret_cast<std::byte*>(&residuals[i].codes), 0);
  }
  residuals[count].group = kNoGroup;
}

}  // namespace weft
