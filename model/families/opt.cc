// OPT (https://arxiv.org/abs/2205.01068). 350M is another model than the rest: norms come behind
// the sums, and tokens' embeddings are narrower than the hidden states.
#include <utility>

#include "model/families/decoder.h"

namespace weft {

ModelDescription DescribeOpt(Hyperparameters& h) {
  h.SetHfDefaults({{"tie_word_embeddings", true}});
  ModelSpec spec = ReadSizes(h, "opt", NormKind::kLayer, {.kv_head_count = ""});
  SetNoRope(spec);
  if (!h.Bool({"", "do_layer_norm_before"}, true)) SetSumNorms(spec);
  if (h.Bool({"", "_remove_final_layer_norm"}, false)) spec.head.norm = {};
  const int64_t size =
      h.Int({"", "word_embed_proj_dim"}, {1, ConfigLimits::kWidth}, spec.hidden_size);
  if (size != spec.hidden_size) spec.embedding.size = size;
  // The table of positions begins with two that no token has.
  spec.embedding.position_offset = 2;
  spec.embedding.position_count = spec.context_length + 2;
  ReadDenseMlp(h, ReadActivation(h, "activation_function", ActivationKind::kRelu), spec,
               /*is_gated=*/false, "ffn_dim");
  h.RefuseUnless({"", "layer_norm_elementwise_affine"}, true);
  const bool bias = h.Bool({"", "enable_bias"}, true);
  return WithParameters(h,
                        {.hf_layers = "model.decoder.layers",
                         .embedding = {"", "model.decoder.embed_tokens"},
                         .embedding_projection = {"", "model.decoder.project_in"},
                         .positions = {"", "model.decoder.embed_positions"},
                         .attention_norm = {"", "self_attn_layer_norm"},
                         .attention_output = {"", "self_attn.out_proj"},
                         .mlp_norm = {"", "final_layer_norm"},
                         .up = {"", "fc1"},
                         .down = {"", "fc2"},
                         .head_norm = {"", "model.decoder.final_layer_norm"},
                         .head_projection = {"", "model.decoder.project_out"},
                         .norm_bias = true,
                         .qkv_bias = bias,
                         .attention_output_bias = bias,
                         .mlp_bias = bias},
                        std::move(spec));
}

}  // namespace weft
