// Nomic's BERT (https://arxiv.org/abs/2402.01613): BERT with RoPE, gated MLPs and no biases.
#include <utility>

#include "model/families/decoder.h"

namespace weft {
namespace {

// Its own config.json is GPT-2's; transformers 5 has the usual one.
bool IsPublished(const Hyperparameters& h) { return h.Has({"", "n_embd"}); }

// What its own config.json could ask for beside what is served.
void RefuseOthers(Hyperparameters& h) {
  h.RefuseUnless({"", "causal"}, false);
  h.RefuseUnless({"", "prenorm"}, false);
  h.RefuseUnless({"", "rotary_emb_fraction"}, 1.0);
  h.RefuseUnless({"", "rotary_emb_interleaved"}, false);
  h.RefuseUnless({"", "rotary_emb_scale_base"}, ConfigValue());
  h.RefuseUnless({"", "rotary_scaling_factor"}, ConfigValue());
  h.RefuseUnless({"", "activation_function"}, std::string("swiglu"));
  h.RefuseUnless({"", "use_rms_norm"}, false);
  h.RefuseUnless({"", "parallel_block"}, false);
  h.RefuseUnless({"", "num_experts"}, int64_t{0});
  for (const char* bias : {"qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias"}) {
    h.RefuseUnless({"", bias}, false);
  }
}

}  // namespace

ModelDescription DescribeNomicBert(Hyperparameters& h) {
  h.SetHfDefaults({{"layer_norm_eps", 1e-12}, {"hidden_act", std::string("silu")}});
  const bool is_published = IsPublished(h);
  HfSizeKeys keys = {.kv_head_count = ""};
  if (is_published) keys = kGpt2SizeKeys;
  ModelSpec spec = ReadEncoderSizes(h, "nomic-bert", NormKind::kLayer, keys);
  spec.embedding.norm = spec.head.norm;
  spec.embedding.type_count = ReadTypeCount(h, 2);
  SetSumNorms(spec);
  if (is_published) {
    RefuseOthers(h);
    h.SetHfDefaults({{"rope_theta", h.Positive({"", "rotary_emb_base"}, 10000)}});
  } else {
    h.SetHfDefaults({{"rope_theta", 1000.0}});
  }
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  ReadDenseMlp(h, ReadActivation(h, "hidden_act", ActivationKind::kSilu), spec, /*is_gated=*/true,
               is_published ? "n_inner" : "intermediate_size");
  ModelDescription description =
      WithParameters(h,
                     {.hf_base = "",
                      .hf_layers = "encoder.layers",
                      .embedding = {"token_embd", "embeddings.word_embeddings"},
                      .token_types = {"token_types", "embeddings.token_type_embeddings"},
                      .embedding_norm = {"token_embd_norm", "emb_ln"},
                      .attention_norm = {"attn_output_norm", "norm1"},
                      .qkv = {.name = {"attn_qkv", "attn.Wqkv"}},
                      .attention_output = {"attn_output", "attn.out_proj"},
                      .mlp_norm = {"layer_output_norm", "norm2"},
                      .gate = {"ffn_gate", "mlp.fc12"},
                      .up = {"ffn_up", "mlp.fc11"},
                      .down = {"ffn_down", "mlp.fc2"},
                      .norm_bias = true},
                     std::move(spec));
  // Of what it was trained with: no part of embeddings.
  description.parameters.unused_prefixes = {"pooler.", "cls."};
  return description;
}

}  // namespace weft
