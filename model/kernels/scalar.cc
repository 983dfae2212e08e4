// The definition of the bf16 and bf16pair arithmetics: plain code, one value at a time. Attention
// is in scalar_attention.cc, what the int8 arithmetic has of its own in scalar_int8.cc.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "model/kernels/isa_functions.h"
#include "model/kernels/kv_page.h"
#include "model/kernels/packing.h"
#include "model/kernels/scalar_attention.h"
#include "model/kernels/scalar_int8.h"
#include "model/kernels/scalar_math.h"
#include "model/kernels/scalar_recurrence.h"

namespace weft::scalar {
namespace {

float ToFloat(uint16_t operand) { return BFloat16ToFloat(operand); }
float ToFloat(float operand) { return operand; }

// `Operand`: an element of x. dot_product(x, w, count): of a row and an output's weights.
template <typename Operand, typename DotProduct>
void MultiplyAll(const MatmulTask& task, const std::byte* panel, const DotProduct& dot_product) {
  const PackedMatrix& weights = *task.weights;
  const int64_t groups = OperandGroups(weights.columns);
  const int64_t columns = groups * kGroupColumns;
  std::vector<float> w(static_cast<size_t>(columns));
  std::vector<float> x(static_cast<size_t>(task.row_count * columns));
  for (int64_t r = 0; r < task.row_count; ++r) {
    const int64_t row = task.x_rows == nullptr ? r : task.x_rows[r];
    for (int64_t k = 0; k < columns; ++k) {
      const std::byte* group =
          task.x + row * task.x_row_bytes + k / kGroupColumns * task.x_group_bytes;
      Operand operand;
      std::memcpy(&operand, group + k % kGroupColumns * int64_t{sizeof(operand)}, sizeof(operand));
      x[static_cast<size_t>(r * columns + k)] = ToFloat(operand);
    }
  }
  const int64_t first = task.first_panel * kPanelRows;
  const int64_t end = std::min(weights.rows, first + task.panel_count * kPanelRows);
  for (int64_t output = first; output < end; ++output) {
    const int64_t panel_offset = output / kPanelRows - task.first_panel;
    UnpackLaneBF16(weights.layout, panel + panel_offset * weights.panel_bytes, output % kPanelRows,
                   weights.columns, w.data());
    for (int64_t r = 0; r < task.row_count; ++r) {
      const float dot = dot_product(x.data() + r * columns, w.data(), columns);
      float& y = task.y[r * task.y_stride + output];
      y = task.accumulate ? y + dot : dot;
    }
  }
}

void Matmul(const MatmulTask& task, const std::byte* panel) {
  MultiplyAll<uint16_t>(task, panel,
                        [](const float* x, const float* w, int64_t n) { return Dot(x, w, 1, n); });
}

void MatmulF16(const MatmulTask& task, const std::byte* panel) {
  MultiplyAll<float>(task, panel, DotPairs<FusedMultiplyAdd>);
}

void ToOperandBF16(const float* x, int64_t n, std::byte* out, int64_t group_stride_bytes) {
  for (int64_t first = 0; first < n; first += kGroupColumns, out += group_stride_bytes) {
    uint16_t group[kGroupColumns] = {};
    for (int64_t i = 0; i < std::min(kGroupColumns, n - first); ++i) {
      group[i] = OperandBits(x[first + i]);
    }
    std::memcpy(out, group, sizeof(group));
  }
}

void ToOperandF32(const float* x, int64_t n, std::byte* out, int64_t group_stride_bytes) {
  for (int64_t first = 0; first < n; first += kGroupColumns, out += group_stride_bytes) {
    float group[kGroupColumns] = {};
    std::copy_n(x + first, std::min(kGroupColumns, n - first), group);
    std::memcpy(out, group, sizeof(group));
  }
}

void ToOperand(OperandType type, const float* x, int64_t n, std::byte* out,
               int64_t group_stride_bytes) {
  switch (type) {
    case OperandType::kF32:
      return ToOperandF32(x, n, out, group_stride_bytes);
    case OperandType::kBF16:
      return ToOperandBF16(x, n, out, group_stride_bytes);
    case OperandType::kInt8:
      return ToOperandInt8(x, n, out, group_stride_bytes);
  }
}

float RmsScale(const float* x, int64_t n, float epsilon) {
  Lanes squares;
  for (int64_t i = 0; i < n; ++i) {
    float& lane = squares.lane[i % 16];
    lane = FusedMultiplyAdd(x[i], x[i], lane);
  }
  const float mean = squares.Fold() / static_cast<float>(n);
  return 1.0F / std::sqrt(mean + epsilon);
}

void RmsNorm(const float* x, const float* weight, int64_t n, float epsilon, float* out) {
  const float scale = RmsScale(x, n, epsilon);
  for (int64_t i = 0; i < n; ++i) {
    const float scaled = x[i] * scale;
    out[i] = weight == nullptr ? scaled : scaled * weight[i];
  }
}

void LayerNorm(const float* x, const float* weight, const float* bias, int64_t n, float epsilon,
               float* out) {
  const int64_t padded = (n + 15) / 16 * 16;
  Lanes sums;
  for (int64_t i = 0; i < padded; ++i) {
    float& lane = sums.lane[i % 16];
    lane = lane + (i < n ? x[i] : 0.0F);
  }
  const float mean = sums.Fold() / static_cast<float>(n);
  Lanes squares;
  for (int64_t i = 0; i < n; ++i) {
    float& lane = squares.lane[i % 16];
    lane = FusedMultiplyAdd(x[i] - mean, x[i] - mean, lane);
  }
  const float scale = 1.0F / std::sqrt(squares.Fold() / static_cast<float>(n) + epsilon);
  for (int64_t i = 0; i < n; ++i) {
    float normed = (x[i] - mean) * scale;
    if (weight != nullptr) normed = normed * weight[i];
    if (bias != nullptr) normed = normed + bias[i];
    out[i] = normed;
  }
}

void Rope(float* head, const float* cos, const float* sin, int64_t rotary_dim,
          RopePairing pairing) {
  const int64_t half = rotary_dim / 2;
  for (int64_t i = 0; i < half; ++i) {
    const int64_t first = pairing == RopePairing::kHalves ? i : 2 * i;
    const int64_t second = pairing == RopePairing::kHalves ? i + half : 2 * i + 1;
    const float a = head[first];
    const float b = head[second];
    head[first] = a * cos[i] - b * sin[i];
    head[second] = a * sin[i] + b * cos[i];
  }
}

void GatedActivation(const float* gate, const float* up, int64_t n, ActivationKind activation,
                     float* out) {
  for (int64_t i = 0; i < n; ++i) {
    out[i] = activation == ActivationKind::kClampedSwiglu ? ClampedSwiglu(gate[i], up[i])
                                                          : Activate(gate[i], activation) * up[i];
  }
}

void ActivateRow(const float* x, int64_t n, ActivationKind activation, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = Activate(x[i], activation);
}

void XieluRow(const float* x, int64_t n, float alpha_positive, float alpha_negative, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = Xielu(x[i], alpha_positive, alpha_negative);
}

void SigmoidRow(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = Sigmoid(x[i]);
}

void SoftCapRow(float* x, int64_t n, float cap) {
  for (int64_t i = 0; i < n; ++i) x[i] = SoftCap(x[i], cap);
}

void Scale(float* x, float factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] * factor;
}

void Add(float* x, const float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] + y[i];
}

void Multiply(float* x, const float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= y[i];
}

void MultiplyAdd(float* x, const float* y, float factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = FusedMultiplyAdd(y[i], factor, x[i]);
}

void Softmax(float* x, int64_t n) {
  float maximum = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < n; ++i) maximum = Max(x[i], maximum);
  Lanes lanes;
  for (int64_t i = 0; i < n; ++i) {
    x[i] = Exp(x[i] - maximum);
    lanes.lane[i % 16] = lanes.lane[i % 16] + x[i];
  }
  const float sum = lanes.Fold();
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] / sum;
}

void DenseDot(const float* x, const float* w, int64_t rows, int64_t columns, float* y) {
  for (int64_t row = 0; row < rows; ++row) {
    const float* w_row = w + row * columns;
    Lanes lanes;
    for (int64_t i = 0; i < (columns + 15) / 16 * 16; ++i) {
      float& lane = lanes.lane[i % 16];
      lane = i < columns ? FusedMultiplyAdd(x[i], w_row[i], lane) : lane + 0.0F;
    }
    y[row] = lanes.Fold();
  }
}

}  // namespace

void MatmulBF16Pair(const MatmulTask& task, const std::byte* panel) {
  MultiplyAll<uint16_t>(task, panel, DotPairs<FusedMultiplyAddBF16>);
}

constexpr IsaFunctions kFunctions = {
    .matmul = Matmul,
    .matmul_f16 = MatmulF16,
    .to_operand = ToOperand,
    .rms_norm = RmsNorm,
    .layer_norm = LayerNorm,
    .rope = Rope,
    .gated_activation = GatedActivation,
    .activate = ActivateRow,
    .xielu = XieluRow,
    .sigmoid = SigmoidRow,
    .soft_cap = SoftCapRow,
    .scale = Scale,
    .add = Add,
    .multiply = Multiply,
    .multiply_add = MultiplyAdd,
    .softmax = Softmax,
    .dense_dot = DenseDot,
    .recurrence = Recurrence,
    .convolution = Convolution,
    .kv_bf16 = {.write = WriteBF16, .attention = AttentionBF16, .attend_spans = nullptr},
    .kv_q8 = {.write = WriteQ8, .attention = AttentionQ8, .attend_spans = nullptr},
    .attention_scratch_bytes = AttentionScratchBytes,
    .merge_spans = nullptr,
};

}  // namespace weft::scalar
