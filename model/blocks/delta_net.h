// A gated delta net in place of attention.
#pragma once

#include "model/blocks/block_output.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"
#include "model/spec.h"
#include "model/step.h"

namespace weft {

// output += DeltaNetSpec of norm(residual), for all rows; the sequences' states, which are
// `layer`'s in the cache, go on to their last positions: of the convolution its last positions but
// the newest, (conv_width - 1, channels), then each value head's (key_dim, value_dim).
void DeltaNet(const Step& step, const ForwardBatch& batch, const NormSpec& norm,
              const DeltaNetSpec& net, int64_t layer, KvCache& cache, BlockOutput& output);

}  // namespace weft
