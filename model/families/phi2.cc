// Phi-1, 1.5 and 2 (https://arxiv.org/abs/2309.05463): attention and MLP read the same norm.
#include "model/families/decoder.h"

namespace weft {

ModelDescription DescribePhi2(Hyperparameters& h) {
  h.SetHfDefaults({{"partial_rotary_factor", 0.5}});
  ModelSpec spec = ReadSizes(h, "phi2", NormKind::kLayer);
  SetParallel(spec);
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  ReadDenseMlp(h, ReadActivation(h, "hidden_act", ActivationKind::kGeluTanh), spec,
               /*is_gated=*/false);
  h.RefuseUnless({"", "qk_layernorm"}, false);
  return WithParameters(h,
                        {.qkv = {.name = {"attn_qkv", ""}},  // of some versions of llama.cpp
                         .attention_output = {"attn_output", "self_attn.dense"},
                         .mlp_norm = {"attn_norm", "input_layernorm"},
                         .up = {"ffn_up", "mlp.fc1"},
                         .down = {"ffn_down", "mlp.fc2"},
                         .head_norm = {"output_norm", "model.final_layernorm"},
                         .norm_bias = true,
                         .qkv_bias = true,
                         .attention_output_bias = true,
                         .mlp_bias = true,
                         .head_bias = true},
                        std::move(spec));
}

}  // namespace weft
