// FlexOlmo (https://arxiv.org/abs/2507.07024): OLMo 2 with experts.
#include "model/families/decoder.h"

namespace weft {

ModelDescription DescribeFlexOlmo(Hyperparameters& h) {
  h.SetHfDefaults({{"rope_theta", 500000.0}});
  ModelSpec spec = ReadSizes(h, "flex_olmo");
  SetQkNorm(HeadNorm::kAllHeads, spec);
  SetOutputNorms(spec);
  for (LayerSpec& layer : spec.layers) layer.attention_norm = layer.mlp_norm = {};
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  ReadMixture(h, /*renormalizes=*/false, spec);
  h.RefuseUnless({"", "hidden_act"}, std::string("silu"));
  return WithParameters(h, {}, std::move(spec));
}

}  // namespace weft
