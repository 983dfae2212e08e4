// One sparse vector for a text, from the logits of its positions: SPLADE's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "model/spec.h"

namespace weft {

// Holds the largest logit of each token, so that no more than a row of the vocabulary is kept of a
// text.
class SparsePooler {
 public:
  explicit SparsePooler(int64_t vocab_size) : largest_(static_cast<size_t>(vocab_size)) {}
  // What a SparsePooler allocates.
  static int64_t Bytes(int64_t vocab_size);

  // Begins a text.
  void Clear();
  // The logits of one of its positions. By several threads at once, and in any order: the result is
  // the same.
  void Add(std::span<const float> logits);
  // The weights above 0, by ascending token, when all positions have been added. An error: a logit
  // was not finite.
  Result<PooledResult> Take(const SparseSpec& spec) const;

 private:
  std::vector<float> largest_;  // 0 where none is above; infinity: something was not finite
};

}  // namespace weft
