// What a decoder's row asks of its sequence's source (https://arxiv.org/abs/1706.03762, 3.2.3).
#pragma once

#include "model/blocks/block_output.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"
#include "model/step.h"

namespace weft {

// At the end of an encoder's pass: keys and values for the cross-attentions of all layers of
// `decoder`, made of what the step's rows have come to, go to the cache.
void KeepSources(const Step& step, const ForwardBatch& sources, const ModelSpec& decoder,
                 KvCache& cache);

// output += attention(query, key, value), with the query of norm(residual). `layer`: the cache's
// number of this cross-attention.
void CrossAttention(const Step& step, const ForwardBatch& batch, const NormSpec& norm,
                    const AttentionSpec& attention, int64_t layer, KvCache& cache,
                    BlockOutput& output);

}  // namespace weft
