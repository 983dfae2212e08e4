// Jais 2 (https://huggingface.co/inceptionai/Jais-2-8B-Chat).
#include "model/families/decoder.h"

namespace weft {

ModelDescription DescribeJais2(Hyperparameters& h) {
  ModelSpec spec = ReadSizes(h, "jais2", NormKind::kLayer);
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  ReadDenseMlp(h, ActivationKind::kReluSquared, spec, /*is_gated=*/false);
  h.RefuseUnless({"", "hidden_act"}, std::string("relu2"));
  DecoderTensors tensors = {.norm_bias = true};
  tensors.qkv_bias = tensors.attention_output_bias =
      ReadSwitch(h, "attn_q.bias", "attention_bias", true);
  tensors.mlp_bias = ReadSwitch(h, "ffn_up.bias", "mlp_bias", true);
  return WithParameters(h, tensors, std::move(spec));
}

}  // namespace weft
