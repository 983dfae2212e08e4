// Convolutions of channels, each by itself, with a state that a sequence keeps.
#pragma once

#include "model/forward_batch.h"
#include "model/kv_cache.h"
#include "model/step.h"

namespace weft {

// One layer's, of the step's rows. The state stands at the beginning of what the layer keeps:
// (width - 1) rows of all channels, the oldest first.
struct ConvolvedRows {
  int64_t width = 0;
  int64_t channel_count = 0;
  const float* weight = nullptr;  // (width, channels)
  const float* bias = nullptr;    // (channels), or nullptr
  FloatRows x = {};
  FloatRows out = {};  // others than x
};

// The sequences' states, which are `layer`'s in the cache, go on to their last positions.
void Convolve(const Step& step, const ForwardBatch& batch, const ConvolvedRows& rows, int64_t layer,
              KvCache& cache);

}  // namespace weft
