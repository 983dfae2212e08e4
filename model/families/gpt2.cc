// GPT-2
// (https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf),
// and GPTBigCode, whose heads share their keys and values: SantaCoder
// (https://arxiv.org/abs/2301.03988) and StarCoder (https://arxiv.org/abs/2305.06161).
#include <string_view>
#include <utility>

#include "model/families/decoder.h"

namespace weft {
namespace {

ModelSpec ReadGpt2(Hyperparameters& h, std::string_view name) {
  h.SetHfDefaults({{"tie_word_embeddings", true}});
  ModelSpec spec = ReadSizes(h, name, NormKind::kLayer, kGpt2SizeKeys);
  SetNoRope(spec);
  spec.embedding.position_count = spec.context_length;
  // GGUF does not tell; llama.cpp takes this one for both.
  ReadFourfoldMlp(h, ReadActivation(h, "activation_function", ActivationKind::kGeluTanh), "n_inner",
                  spec);
  h.RefuseUnless({"", "scale_attn_weights"}, true);
  h.RefuseUnless({"", "add_cross_attention"}, false);
  return spec;
}

DecoderTensors Gpt2Tensors() {
  return {.hf_base = "transformer.",
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
          .mlp_bias = true};
}

}  // namespace

ModelDescription DescribeGpt2(Hyperparameters& h) {
  ModelSpec spec = ReadGpt2(h, "gpt2");
  h.RefuseUnless({"", "scale_attn_by_inverse_layer_idx"}, false);
  DecoderTensors tensors = Gpt2Tensors();
  tensors.hf_transposed = true;
  return WithParameters(h, tensors, std::move(spec));
}

ModelDescription DescribeGptBigCode(Hyperparameters& h) {
  ModelSpec spec = ReadGpt2(h, "gpt_bigcode");
  if (!h.is_gguf() && h.Bool({"", "multi_query"}, true)) {
    for (LayerSpec& layer : spec.layers) layer.attention.kv_head_count = 1;
  }
  DecoderTensors tensors = Gpt2Tensors();
  tensors.qkv.hf = Fusion::kByKvHead;
  return WithParameters(h, tensors, std::move(spec));
}

}  // namespace weft
