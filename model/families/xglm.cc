// XGLM (https://arxiv.org/abs/2112.10668): positions are sinusoids.
#include <cmath>

#include "model/families/decoder.h"

namespace weft {
ModelDescription DescribeXglm(Hyperparameters& h) {
  h.SetHfDefaults({{"tie_word_embeddings", true}});
  ModelSpec spec = ReadSizes(h, "xglm", NormKind::kLayer,
                             {.layer_count = "num_layers",
                              .hidden_size = "d_model",
                              .head_count = "attention_heads",
                              .kv_head_count = ""});
  SetNoRope(spec);
  if (h.Bool({"", "scale_embedding"}, true)) {
    spec.embedding.multiplier = std::sqrt(static_cast<float>(spec.hidden_size));
  }
  ReadDenseMlp(h, ReadActivation(h, "activation_function", ActivationKind::kGeluExact), spec,
               /*is_gated=*/false, "ffn_dim");
  h.RefuseUnless({"", "add_cross_attention"}, false);
  DecoderTensors tensors = {.attention_norm = {"", "self_attn_layer_norm"},
                            .attention_output = {"", "self_attn.out_proj"},
                            .mlp_norm = {"", "final_layer_norm"},
                            .up = {"", "fc1"},
                            .down = {"", "fc2"},
                            .head_norm = {"", "model.layer_norm"},
                            .norm_bias = true,
                            .qkv_bias = true,
                            .attention_output_bias = true,
                            .mlp_bias = true};
  SetSinusoids(h, 2, spec.hidden_size / 2 - 1, spec, tensors);
  return WithParameters(h, tensors, std::move(spec));
}

}  // namespace weft
