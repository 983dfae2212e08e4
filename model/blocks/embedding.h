// Where the residual stream begins.
#pragma once

#include "model/forward_batch.h"
#include "model/step.h"

namespace weft {

// residual = norm(multiplier * token + position + type), for the step's rows.
void Embed(const Step& step, const ForwardBatch& batch);

}  // namespace weft
