// The first half of a layer: what a row asks of its sequence's earlier positions.
#pragma once

#include "model/forward_batch.h"
#include "model/kv_cache.h"
#include "model/step.h"
#include "model/weights.h"

namespace weft {

// Which rows belong together and at which angles they stand: once a step, before the first layer.
void PrepareAttention(const Step& step, const ForwardBatch& batch,
                      const std::vector<double>& rope_frequencies);

// residual += output(attention(query, key, value)) with query, key and value of norm(residual);
// keys and values of the step's rows go to the cache first.
void SelfAttention(const Step& step, const ForwardBatch& batch, const LayerWeights& weights,
                   int64_t layer, KvCache& cache);

}  // namespace weft
