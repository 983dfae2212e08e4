// The second half of a layer: the gated MLP, or a mixture of them.
#pragma once

#include "model/step.h"
#include "model/weights.h"

namespace weft {

// residual += down(activation(gate(x)) * up(x)) with x = norm(residual), for the step's rows.
void DenseMlp(const Step& step, const LayerWeights& weights);

// The same with the experts that the router chooses for each row, their outputs weighted and added
// in ascending order of the expert's index. Rows are grouped by expert, so that each expert's
// weights are read once. Workspace::expert_tokens counts them for `layer`.
void MixtureMlp(const Step& step, const LayerWeights& weights, int64_t layer);

}  // namespace weft
