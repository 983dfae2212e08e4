#include "model/blocks/pooled_layers.h"

#include <utility>

#include "base/check.h"

namespace weft {
namespace {

void Activate(const KernelTable& kernels, PooledActivation activation, std::vector<float>& x) {
  const int64_t size = std::ssize(x);
  switch (activation) {
    case PooledActivation::kNone:
      break;
    case PooledActivation::kTanh:
      kernels.soft_cap(x.data(), size, 1.0F);
      break;
    case PooledActivation::kRelu:
      kernels.activate(x.data(), size, ActivationKind::kRelu, x.data());
      break;
    case PooledActivation::kGelu:
      kernels.activate(x.data(), size, ActivationKind::kGeluExact, x.data());
      break;
  }
}

}  // namespace

std::vector<float> PooledLayers(const KernelTable& kernels, const Weights& weights,
                                std::span<const PooledLayerSpec> layers,
                                std::vector<float> pooled) {
  for (const PooledLayerSpec& layer : layers) {
    WEFT_CHECK(std::ssize(pooled) == layer.input_size);
    std::vector<float> output(static_cast<size_t>(layer.output_size));
    kernels.dense_dot(pooled.data(), weights.table(layer.weight), layer.output_size,
                      layer.input_size, output.data());
    if (const float* bias = weights.table(layer.bias)) {
      kernels.add(output.data(), bias, layer.output_size);
    }
    Activate(kernels, layer.activation, output);
    if (layer.norm) {
      WEFT_CHECK(layer.norm.kind == NormKind::kLayer);
      kernels.layer_norm(output.data(), weights.table(layer.norm.weight),
                         weights.table(layer.norm.bias), layer.output_size, layer.norm.epsilon,
                         output.data());
    }
    pooled = std::move(output);
  }
  return pooled;
}

}  // namespace weft
