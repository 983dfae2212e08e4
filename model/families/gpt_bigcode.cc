// GPTBigCode: SantaCoder (https://arxiv.org/abs/2301.03988) and StarCoder
// (https://arxiv.org/abs/2305.06161), GPT-2 whose heads share their keys and values.
#include "model/families/decoder.h"

namespace weft {

ModelDescription DescribeGptBigCode(Hyperparameters& h) {
  h.SetHfDefaults({{"tie_word_embeddings", true}});
  ModelSpec spec = ReadSizes(h, "gpt_bigcode", NormKind::kLayer, kGpt2SizeKeys);
  if (!h.is_gguf() && h.Bool({"", "multi_query"}, true)) {
    for (LayerSpec& layer : spec.layers) layer.attention.kv_head_count = 1;
  }
  SetNoRope(spec);
  spec.embedding.position_count = spec.context_length;
  // GGUF does not tell; llama.cpp takes this one.
  ReadFourfoldMlp(h, ReadActivation(h, "activation_function", ActivationKind::kGeluTanh), "n_inner",
                  spec);
  h.RefuseUnless({"", "scale_attn_weights"}, true);
  h.RefuseUnless({"", "add_cross_attention"}, false);
  return WithParameters(h,
                        {.hf_base = "transformer.",
                         .hf_layers = "transformer.h",
                         .embedding = {"token_embd", "transformer.wte"},
                         .positions = {"position_embd", "transformer.wpe"},
                         .attention_norm = {"attn_norm", "ln_1"},
                         .qkv = {.name = {"attn_qkv", "attn.c_attn"}, .hf = Fusion::kByKvHead},
                         .attention_output = {"attn_output", "attn.c_proj"},
                         .mlp_norm = {"ffn_norm", "ln_2"},
                         .up = {"ffn_up", "mlp.c_fc"},
                         .down = {"ffn_down", "mlp.c_proj"},
                         .head_norm = {"output_norm", "transformer.ln_f"},
                         .norm_bias = true,
                         .qkv_bias = true,
                         .attention_output_bias = true,
                         .mlp_bias = true},
                        std::move(spec));
}

}  // namespace weft
