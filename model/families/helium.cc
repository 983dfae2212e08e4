// Helium (https://huggingface.co/kyutai/helium-1-preview-2b): Llama that rotates neighbours.
#include "model/families/decoder.h"

namespace weft {

ModelDescription DescribeHelium(Hyperparameters& h) {
  h.SetHfDefaults({{"rms_norm_eps", 1e-8},
                   {"rope_theta", 100000.0},
                   {"head_dim", int64_t{128}},
                   {"num_key_value_heads", int64_t{20}}});
  ModelSpec spec = ReadSizes(h, "helium");
  RopeSpec rope = ReadRope(h, spec, RopePairing::kNeighbours);
  rope.pairing = RopePairing::kNeighbours;
  spec.ropes = {rope};
  ReadDenseMlp(h, ActivationKind::kSilu, spec);
  h.RefuseUnless({"", "hidden_act"}, std::string("silu"));
  return WithParameters(h, {}, std::move(spec));
}

}  // namespace weft
