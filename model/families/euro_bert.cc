// EuroBERT (https://arxiv.org/abs/2503.05500): Llama's layers as an encoder.
#include <utility>

#include "model/families/decoder.h"

namespace weft {

ModelDescription DescribeEuroBert(Hyperparameters& h) {
  h.SetHfDefaults({{"rope_theta", 250000.0}, {"rms_norm_eps", 1e-5}});
  ModelSpec spec = ReadEncoderSizes(h, "eurobert", NormKind::kRms);
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  ReadDenseMlp(h, ReadActivation(h, "hidden_act", ActivationKind::kSilu), spec);
  h.RefuseUnless({"", "attention_bias"}, false);
  h.RefuseUnless({"", "mlp_bias"}, false);
  ModelDescription description = WithParameters(h, {}, std::move(spec));
  description.parameters.unused_prefixes = {"lm_head."};
  return description;
}

}  // namespace weft
