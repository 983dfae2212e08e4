// Mamba-2's state space, in place of attention or beside it.
#pragma once

#include "model/blocks/block_output.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"
#include "model/spec.h"
#include "model/step.h"

namespace weft {

// output += StateSpaceSpec of norm(residual), for all rows; the sequences' states, which are
// `layer`'s in the cache, go on to their last positions. What a layer keeps is the convolution's
// state, then each head's, (state_dim, head_dim).
void StateSpace(const Step& step, const ForwardBatch& batch, const NormSpec& norm,
                const StateSpaceSpec& space, int64_t layer, KvCache& cache, BlockOutput& output);

}  // namespace weft
