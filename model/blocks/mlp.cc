#include "model/blocks/mlp.h"

#include <algorithm>

#include "base/exact_math.h"

namespace weft {
namespace {

// The number that multiplies: softplus of what training learned, behind xIELU's beta for negatives.
float XieluAlpha(const Step& step, TableId learned, double beta) {
  const float* x = step.weights.table(learned);
  if (x == nullptr) return 0;
  const double softplus = *x > 20 ? *x : exact::Log(1 + exact::Exp(*x));
  return static_cast<float>(beta + softplus);
}

}  // namespace

void Activate(const Step& step, const Activation& activation, FloatRows gate, FloatRows up,
              Panels panels, int64_t row_count, const float* row_factors, const PackedMatrix& down,
              const Operands& out) {
  const KernelTable& kernels = step.kernels;
  const int64_t first = panels.first * kPanelRows;
  const int64_t count = std::min(panels.count * kPanelRows, down.columns - first);
  for (int64_t row = 0; row < row_count; ++row) {
    float* of_up = up[row] + first;
    float* x = activation.is_gated ? gate[row] + first : of_up;
    if (activation.up_bias != nullptr) kernels.add(of_up, activation.up_bias + first, count);
    if (activation.is_gated) {
      if (activation.gate_bias != nullptr) kernels.add(x, activation.gate_bias + first, count);
      if (activation.gate_multiplier != 1) kernels.scale(x, activation.gate_multiplier, count);
      kernels.gated_activation(x, of_up, count, activation.kind, x);
    } else if (activation.kind == ActivationKind::kXielu) {
      kernels.xielu(x, count, activation.xielu_positive, activation.xielu_negative, x);
    } else {
      kernels.activate(x, count, activation.kind, x);
    }
    if (activation.multiplier != 1) kernels.scale(x, activation.multiplier, count);
    if (row_factors != nullptr) kernels.scale(x, row_factors[row], count);
    WriteOperands(kernels, {&down}, x, count, out, row, first / kGroupColumns);
  }
}

void DenseMlpOf(const Step& step, const Operands& x, const DenseMlpSpec& mlp,
                const float* row_factors, OperatorTimer& timer, BlockOutput& output) {
  timer.Next(Operator::kGateUp);
  const KernelTable& kernels = step.kernels;
  const Workspace& b = step.buffers;
  const PackedMatrix& up = step.weights.matrix(mlp.up.weights);
  const PackedMatrix* gate = mlp.is_gated ? &step.weights.matrix(mlp.gate.weights) : nullptr;
  const PackedMatrix& down = step.weights.matrix(mlp.down.weights);
  const Operands activated = b.activated.Rows(step.row_count);
  const Activation activation = {.kind = mlp.activation,
                                 .is_gated = gate != nullptr,
                                 .gate_multiplier = mlp.gate_multiplier,
                                 .multiplier = mlp.multiplier,
                                 .gate_bias = step.weights.table(mlp.gate.bias),
                                 .up_bias = step.weights.table(mlp.up.bias),
                                 .xielu_positive = XieluAlpha(step, mlp.xielu_positive, 0),
                                 .xielu_negative = XieluAlpha(step, mlp.xielu_negative, 0.5)};
  const int64_t panel_weights = (gate != nullptr ? 2 : 1) * kPanelRows * up.columns;
  // Rows in blocks, each in the place of the one before: what the products give is read while it is
  // in the core's cache, and nobody writes it to memory.
  ParallelPanels(step, up.panel_count(), panel_weights, step.row_count, [&](Panels panels) {
    for (int64_t first = 0, count = 0; first < step.row_count; first += count) {
      count = std::min(kernels.rows_together, step.row_count - first);
      const Operands rows = x.From(first);
      if (gate != nullptr) Multiply(kernels, *gate, panels, rows, nullptr, count, b.gate);
      Multiply(kernels, up, panels, rows, nullptr, count, b.up);
      Activate(step, activation, b.gate, b.up, panels, count,
               row_factors == nullptr ? nullptr : row_factors + first, down, activated.From(first));
    }
  });
  timer.Next(Operator::kDown);
  output.Add(mlp.down, activated);
}

void DenseMlp(const Step& step, const NormSpec& norm, const DenseMlpSpec& mlp,
              BlockOutput& output) {
  OperatorTimer timer(step.profile, Operator::kNorm);
  const PackedMatrix& up = step.weights.matrix(mlp.up.weights);
  const PackedMatrix& gate = mlp.is_gated ? step.weights.matrix(mlp.gate.weights) : up;
  const Operands normed = NormedOperands(step, norm, {&gate, &up});
  DenseMlpOf(step, normed, mlp, nullptr, timer, output);
}

}  // namespace weft
