// GPT-2
// (https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf).
#include "model/families/decoder.h"

namespace weft {

ModelDescription DescribeGpt2(Hyperparameters& h) {
  h.SetHfDefaults({{"tie_word_embeddings", true}});
  ModelSpec spec = ReadSizes(h, "gpt2", NormKind::kLayer, kGpt2SizeKeys);
  SetNoRope(spec);
  spec.embedding.position_count = spec.context_length;
  ReadFourfoldMlp(h, ReadActivation(h, "activation_function", ActivationKind::kGeluTanh), "n_inner",
                  spec);
  h.RefuseUnless({"", "scale_attn_weights"}, true);
  h.RefuseUnless({"", "scale_attn_by_inverse_layer_idx"}, false);
  h.RefuseUnless({"", "add_cross_attention"}, false);
  return WithParameters(h,
                        {.hf_base = "transformer.",
                         .hf_layers = "transformer.h",
                         .embedding = {"token_embd", "transformer.wte"},
                         .positions = {"position_embd", "transformer.wpe"},
                         .attention_norm = {"attn_norm", "ln_1"},
                         .qkv = {.name = {"attn_qkv", "attn.c_attn"}},
                         .attention_output = {"attn_output", "attn.c_proj"},
                         .mlp_norm = {"ffn_norm", "ln_2"},
                         .up = {"ffn_up", "mlp.c_fc"},
                         .down = {"ffn_down", "mlp.c_proj"},
                         .head_norm = {"output_norm", "transformer.ln_f"},
                         .norm_bias = true,
                         .qkv_bias = true,
                         .attention_output_bias = true,
                         .mlp_bias = true,
                         .hf_transposed = true},
                        std::move(spec));
}

}  // namespace weft
