// The definition of the int8 arithmetic: products of weights whose codes are integers with operands
// of 8 bits.
//
// For one row and one output, over the groups of 32 k in ascending order, acc from +0:
//
//   dot = the sum of (what the weight's code stands for) * (code of x)          an exact integer
//   acc = fma(dot * scale, x scale, acc)
//   acc = fma(minimum, x scaled_sum, acc)                    formats with a minimum only
//
// and y = acc, or y + acc. Of a row with residuals (int8_residual.h) the same lines over these, in
// ascending order of their groups, make another acc from +0, and y = y + that.
//
// Where a format has a scale each for k < 16 and k >= 16, what is multiplied with x's scale is
// fma(dot1, scale1, dot0 * scale0). Where it has such minimums, two more are added to that before,
// fma(sum of x's codes of k < 16, minimum0, ...) and then that of k >= 16, and there is no last
// line.
//
// The codes' integers, scales and minimums are panel_format.h's and weight_group.cc's. A scale of
// 2^(e - 128) is zero for e < 2: it would be a denormal.
#include "model/kernels/scalar_int8.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "model/kernels/isa_functions.h"
#include "model/kernels/packing.h"
#include "model/kernels/panel_layout.h"
#include "model/kernels/scalar_math.h"

namespace weft::scalar {
namespace {

// To the nearest integer, ties to even; |x| below 2^22.
int32_t Round(float x) {
  constexpr float kShift = 0x1.8p23F;  // adding it leaves no room for a fraction
  return static_cast<int32_t>((x + kShift) - kShift);
}

Int8Group QuantizeGroup(const float* x, int64_t count) {
  uint32_t largest = 0;  // magnitudes are ordered like their bits, NaN above all
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<uint32_t>(x[i]) & 0x7fffffff);
  }
  const auto magnitude = std::bit_cast<float>(largest);
  Int8Group group = {};
  if (largest >= 0x7f800000) {
    group.scale = std::numeric_limits<float>::quiet_NaN();
    group.scaled_sum = group.scale;
    return group;
  }
  if (magnitude < kSmallestInt8Magnitude) return group;
  group.scale = magnitude / 127.0F;
  const float inverse = 127.0F / magnitude;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t code = Round(x[i] * inverse);
    group.codes[4 * QuadOf(i) + ByteOf(i)] = static_cast<int8_t>(code);
    group.sums[i / 16] += code;
  }
  group.scaled_sum = group.scale * static_cast<float>(group.sums[0] + group.sums[1]);
  return group;
}

float MultiplyGroup(const Int8Weights& weights, const Int8Group& x, float sum) {
  int32_t dots[2] = {};
  for (int64_t k = 0; k < kGroupColumns; ++k) {
    const int64_t part = weights.has_halves ? k / 16 : 0;
    dots[part] += weights.codes[k] * x.codes[4 * QuadOf(k) + ByteOf(k)];
  }
  float scaled = static_cast<float>(dots[0]) * weights.scales[0];
  const auto add = [&](int32_t integer, float factor) {
    scaled = FusedMultiplyAdd(static_cast<float>(integer), factor, scaled);
  };
  if (weights.has_halves) add(dots[1], weights.scales[1]);
  switch (weights.minimum_kind) {
    case PanelMinimum::kNone:
      break;
    case PanelMinimum::kHalf:
    case PanelMinimum::kBFloat:
    case PanelMinimum::kZeroPoint:
    case PanelMinimum::kBytes:
      sum = FusedMultiplyAdd(scaled, x.scale, sum);
      return FusedMultiplyAdd(weights.minimums[0], x.scaled_sum, sum);
    case PanelMinimum::kHalvesNibbles:
      add(x.sums[0], weights.minimums[0]);
      add(x.sums[1], weights.minimums[1]);
      break;
  }
  return FusedMultiplyAdd(scaled, x.scale, sum);
}

}  // namespace

void ToOperandInt8(const float* x, int64_t n, std::byte* out, int64_t group_stride_bytes) {
  for (int64_t first = 0; first < n; first += kGroupColumns, out += group_stride_bytes) {
    const Int8Group group = QuantizeGroup(x + first, std::min(kGroupColumns, n - first));
    std::memcpy(out, &group, sizeof(group));
  }
}

void MatmulInt8(const MatmulTask& task, const std::byte* panel) {
  const PackedMatrix& weights = *task.weights;
  const int64_t first = task.first_panel * kPanelRows;
  const int64_t end = std::min(weights.rows, first + task.panel_count * kPanelRows);
  const int64_t groups = OperandGroups(weights.columns);
  for (int64_t output = first; output < end; ++output) {
    const std::byte* own_panel =
        panel + (output / kPanelRows - task.first_panel) * weights.panel_bytes;
    const auto weights_of = [&](int64_t group) {
      return IntegersOf(weights.layout,
                        UnpackGroup(weights.layout, own_panel, output % kPanelRows, group, groups));
    };
    for (int64_t r = 0; r < task.row_count; ++r) {
      const int64_t row = task.x_rows == nullptr ? r : task.x_rows[r];
      float sum = 0;
      for (int64_t group = 0; group < groups; ++group) {
        Int8Group x;
        std::memcpy(&x, task.x + row * task.x_row_bytes + group * task.x_group_bytes, sizeof(x));
        sum = MultiplyGroup(weights_of(group), x, sum);
      }
      float& y = task.y[r * task.y_stride + output];
      y = task.accumulate ? y + sum : sum;
      if (task.x_residuals == nullptr) continue;
      float residual_sum = 0;
      for (const auto* residual = reinterpret_cast<const Int8Residual*>(
               task.x_residuals + row * task.x_residual_row_bytes);
           residual->group != kNoGroup; ++residual) {
        residual_sum = MultiplyGroup(weights_of(residual->group), residual->codes, residual_sum);
      }
      y += residual_sum;
    }
  }
}

}  // namespace weft::scalar
