// HyperCLOVA X (https://arxiv.org/abs/2506.22403): Granite's multipliers, but that of the logits is
// no divisor, and norms behind both blocks.
#include "model/families/decoder.h"

namespace weft {

ModelDescription DescribeHyperClovaX(Hyperparameters& h) {
  ModelSpec spec = ReadSizes(h, "hyperclovax");
  if (h.Bool({"", "use_post_norm"}, true)) SetOutputNorms(spec);
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  ReadDenseMlp(h, ActivationKind::kSilu, spec);
  h.RefuseUnless({"", "hidden_act"}, std::string("silu"));
  const auto factor = [&](std::string_view key, double otherwise) {
    return static_cast<float>(h.Positive({"", key}, otherwise));
  };
  spec.embedding.multiplier = factor("embedding_multiplier", 1.0);
  spec.head.multiplier = factor("logits_scaling", 1.0);
  const float residual = factor("residual_multiplier", 1.0);
  for (LayerSpec& layer : spec.layers) {
    layer.residual_multiplier = residual;
    layer.attention.scale = factor("attention_multiplier", layer.attention.scale);
  }
  return WithParameters(
      h, {.attention_output_norm = {"", "post_norm1"}, .mlp_output_norm = {"", "post_norm2"}},
      std::move(spec));
}

}  // namespace weft
