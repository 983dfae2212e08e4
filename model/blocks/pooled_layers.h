// What comes behind the pooling of hidden states.
#pragma once

#include <span>
#include <vector>

#include "model/kernels/kernels.h"
#include "model/spec.h"
#include "model/weights.h"

namespace weft {

// `pooled`, the input of the first of these layers, passed through all of them. On the calling
// thread, which holds ScopedFlushDenormals; float32, the same bits in every instruction set.
std::vector<float> PooledLayers(const KernelTable& kernels, const Weights& weights,
                                std::span<const PooledLayerSpec> layers, std::vector<float> pooled);

}  // namespace weft
