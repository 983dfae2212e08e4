// One vector for a prompt, from the hidden states of its positions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/spec.h"

namespace weft {

// Used by the engine thread.
class Pooler {
 public:
  explicit Pooler(Pooling pooling) : pooling_(pooling) {}

  // The hidden state of the next position that is pooled, all of one size, from the first one on
  // where all are. Sums are in double and in the order of the calls, which is part of what the
  // result is.
  void Add(std::span<const float> hidden);
  // The vector; at least one state was added. An error: it has a number that is not finite.
  Result<std::vector<float>> Take();

 private:
  Pooling pooling_;
  int64_t count_ = 0;
  double weight_ = 0;           // of all
  std::vector<double> pooled_;  // the sum, or the largest
};

}  // namespace weft
