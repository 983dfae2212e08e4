// The second half of a layer where it is one MLP for all rows.
#pragma once

#include "model/blocks/block_output.h"
#include "model/step.h"

namespace weft {

// output += mlp(norm(residual)), for the step's rows.
void DenseMlp(const Step& step, const NormSpec& norm, const DenseMlpSpec& mlp, BlockOutput& output);

// The part of DenseMlp behind the norm: x are its operands. `row_factors`, if there are any,
// multiply what the activation gives, one a row.
void DenseMlpOf(const Step& step, const Operands& x, const DenseMlpSpec& mlp,
                const float* row_factors, OperatorTimer& timer, BlockOutput& output);

// The parts of an activation: their biases may be nullptr, and up is the whole of an MLP without a
// gate.
struct Activation {
  ActivationKind kind;
  bool is_gated = true;
  float gate_multiplier = 1;
  float multiplier = 1;  // of the whole
  const float* gate_bias = nullptr;
  const float* up_bias = nullptr;
  float xielu_positive = 0;
  float xielu_negative = 0;
};

// The columns that these panels made of activation(gate) * up, as operands for `down`. What it
// gives takes the place of `gate`, or, without one, of `up`.
void Activate(const Step& step, const Activation& activation, FloatRows gate, FloatRows up,
              Panels panels, int64_t row_count, const float* row_factors, const PackedMatrix& down,
              const Operands& out);

}  // namespace weft
