// A short convolution in place of attention.
#pragma once

#include "model/blocks/block_output.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"
#include "model/spec.h"
#include "model/step.h"

namespace weft {

// output += ShortConvSpec of norm(residual), for all rows; the sequences' states, which are
// `layer`'s in the cache, go on to their last positions.
void ShortConvolution(const Step& step, const ForwardBatch& batch, const NormSpec& norm,
                      const ShortConvSpec& conv, int64_t layer, KvCache& cache,
                      BlockOutput& output);

}  // namespace weft
