// Attention's bias by relative position (https://arxiv.org/abs/1910.10683): a learned number a head
// for each bucket of distances.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

// Half of the buckets have a distance each, the rest stand for ever more of them, up to
// max_distance, beyond which the last one goes on.
struct RelativeBuckets {
  int64_t count = 0;         // at least 2 on each side that has some
  int64_t max_distance = 0;  // above count / 2, or, in both directions, count / 4
  bool is_causal = false;    // keys behind the query share bucket 0; otherwise half are theirs
};

// That of keys at this distance, the key's position - the query's, as transformers computes it in
// float32.
int64_t RelativeBucket(const RelativeBuckets& buckets, int64_t distance);

// What attention's kernels read (DistanceBiasFloats(max_distance) a head) of the learned table
// (count, head_count).
std::vector<float> DistanceBias(const RelativeBuckets& buckets, int64_t head_count,
                                const std::vector<float>& learned);

}  // namespace weft
