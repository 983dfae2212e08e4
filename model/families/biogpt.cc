// BioGPT (https://arxiv.org/abs/2210.10341).
#include <cmath>

#include "model/families/decoder.h"

namespace weft {

ModelDescription DescribeBioGpt(Hyperparameters& h) {
  h.SetHfDefaults({{"tie_word_embeddings", true}});
  // transformers does not read config.json's epsilon.
  ModelSpec spec = ReadSizes(h, "biogpt", NormKind::kLayer, {.kv_head_count = "", .epsilon = ""});
  SetNoRope(spec);
  if (h.Bool({"", "scale_embedding"}, true)) {
    spec.embedding.multiplier = std::sqrt(static_cast<float>(spec.hidden_size));
  }
  // The table of positions begins with two that no token has.
  spec.embedding.position_offset = 2;
  spec.embedding.position_count = spec.context_length + 2;
  ReadDenseMlp(h, ReadActivation(h, "hidden_act", ActivationKind::kGeluExact), spec,
               /*is_gated=*/false);
  return WithParameters(h,
                        {.hf_base = "biogpt.",
                         .hf_layers = "biogpt.layers",
                         .embedding = {"", "biogpt.embed_tokens"},
                         .positions = {"", "biogpt.embed_positions"},
                         .attention_norm = {"", "self_attn_layer_norm"},
                         .attention_output = {"", "self_attn.out_proj"},
                         .mlp_norm = {"", "final_layer_norm"},
                         .up = {"", "fc1"},
                         .down = {"", "fc2"},
                         .head_norm = {"", "biogpt.layer_norm"},
                         .head = {"", "output_projection"},
                         .norm_bias = true,
                         .qkv_bias = true,
                         .attention_output_bias = true,
                         .mlp_bias = true},
                        std::move(spec));
}

}  // namespace weft
