// The first half of a layer: what a row asks of its sequence's other positions.
#pragma once

#include <span>
#include <vector>

#include "model/blocks/block_output.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"
#include "model/step.h"

namespace weft {

// Which rows belong together and at which angles they stand: once a step, before the first layer.
// `frequencies`: those of each of ModelSpec::ropes.
void PrepareAttention(const Step& step, const ForwardBatch& batch,
                      std::span<const std::vector<double>> frequencies);

// output += attention(query, key, value) with query, key and value of norm(residual); keys and
// values of the step's rows go to the cache first. Here and below `layer` is the cache's number of
// it (CachedLayer).
void SelfAttention(const Step& step, const ForwardBatch& batch, const NormSpec& norm,
                   const AttentionSpec& attention, int64_t layer, KvCache& cache,
                   BlockOutput& output);

// Parts of it that other ways into attention share.

// Rotates the first elements of one head of a row.
void RotateHead(const Step& step, int rope, int64_t row, float* head);

// Keys and values of all of a row's key-value heads.
void WriteToCache(const Step& step, const ForwardBatch& batch, const AttentionSpec& attention,
                  int64_t row, const float* key, const float* value, int64_t layer, KvCache& cache);

// Workspace::attended = what Workspace::query finds in the cache.
void Attend(const Step& step, const ForwardBatch& batch, const AttentionSpec& attention,
            int64_t layer, KvCache& cache);

// output += attention.output(Workspace::attended)
void AddAttended(const Step& step, const AttentionSpec& attention, BlockOutput& output);

}  // namespace weft
