// Persimmon (https://www.adept.ai/blog/persimmon-8b): layer norms of queries and keys, with biases.
#include <utility>

#include "model/families/decoder.h"

namespace weft {
ModelDescription DescribePersimmon(Hyperparameters& h) {
  h.SetHfDefaults({{"partial_rotary_factor", 0.5}});
  ModelSpec spec = ReadSizes(h, "persimmon", NormKind::kLayer, {.kv_head_count = ""});
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  ReadDenseMlp(h, ReadActivation(h, "hidden_act", ActivationKind::kReluSquared), spec,
               /*is_gated=*/false);
  if (h.Bool({"", "qk_layernorm"}, true)) SetQkNorm(HeadNorm::kEachHead, spec);
  return WithParameters(
      h,
      {.qkv = {.name = {"", "self_attn.query_key_value"}, .hf = Fusion::kByKvHead},
       .query_norm = {"", "self_attn.q_layernorm"},
       .key_norm = {"", "self_attn.k_layernorm"},
       .attention_output = {"", "self_attn.dense"},
       .up = {"", "mlp.dense_h_to_4h"},
       .down = {"", "mlp.dense_4h_to_h"},
       .head_norm = {"", "model.final_layernorm"},
       .norm_bias = true,
       .qk_norm_bias = true,
       .qkv_bias = true,
       .attention_output_bias = true,
       .mlp_bias = true},
      std::move(spec));
}

}  // namespace weft
