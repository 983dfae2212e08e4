// Nomic's BERT (https://arxiv.org/abs/2402.01613): BERT with RoPE, gated MLPs and no biases; and
// its mixture of experts (https://arxiv.org/abs/2502.07972): with biases, without gates, and with
// experts in place of every so many MLPs.
#include <utility>

#include "model/families/decoder.h"

namespace weft {
namespace {

// Its own config.json is GPT-2's; transformers 5 has the usual one.
bool IsPublished(const Hyperparameters& h) { return h.Has({"", "n_embd"}); }

// What its own config.json could ask for beside what is served.
void RefuseOthers(Hyperparameters& h, bool is_mixture) {
  h.RefuseUnless({"", "causal"}, false);
  h.RefuseUnless({"", "prenorm"}, false);
  h.RefuseUnless({"", "rotary_emb_fraction"}, 1.0);
  h.RefuseUnless({"", "rotary_emb_interleaved"}, false);
  h.RefuseUnless({"", "rotary_emb_scale_base"}, ConfigValue());
  h.RefuseUnless({"", "rotary_scaling_factor"}, ConfigValue());
  h.RefuseUnless({"", "activation_function"}, std::string(is_mixture ? "gelu" : "swiglu"));
  h.RefuseUnless({"", "use_rms_norm"}, false);
  h.RefuseUnless({"", "parallel_block"}, false);
  for (const char* bias : {"qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias"}) {
    h.RefuseUnless({"", bias}, is_mixture);
  }
  if (!is_mixture) return h.RefuseUnless({"", "num_experts"}, int64_t{0});
  h.RefuseUnless({"", "expert_choice_router"}, false);
  h.RefuseUnless({"", "moe_normalize_expert_weights"}, false);
  h.RefuseUnless({"", "num_shared_experts"}, int64_t{0});
  h.RefuseUnless({"", "ffn_div"}, 1.0);
}

constexpr Field kEvery = {"moe_every_n_layers", "moe_every_n_layers"};

// Experts in the second layer of every so many.
void ReadNomicExperts(Hyperparameters& h, ModelSpec& spec) {
  const int64_t every = h.Int(kEvery, {1, ConfigLimits::kLayers});
  MixtureSpec mixture;
  mixture.expert_count = h.Int({"expert_count", "num_experts"}, {1, ConfigLimits::kExperts});
  mixture.experts_per_token = h.Int({"expert_used_count", "moe_top_k"}, {1, mixture.expert_count});
  mixture.activation = ActivationKind::kGeluExact;
  mixture.is_gated = false;
  for (int64_t i = 0; i < spec.layer_count(); ++i) {
    MlpSpec& mlp = spec.layers[static_cast<size_t>(i)].mlp;
    if (i % every != 1) continue;
    mixture.width = std::get<DenseMlpSpec>(mlp).width;
    mlp = mixture;
  }
}

}  // namespace

ModelDescription DescribeNomicBert(Hyperparameters& h) {
  h.SetHfDefaults({{"layer_norm_eps", 1e-12}});
  const bool is_published = IsPublished(h);
  const bool is_mixture = h.Has(kEvery) && !h.IsZero(kEvery);
  HfSizeKeys keys = {.kv_head_count = ""};
  if (is_published) keys = kGpt2SizeKeys;
  ModelSpec spec = ReadEncoderSizes(h, "nomic-bert", NormKind::kLayer, keys);
  spec.embedding.norm = spec.head.norm;
  spec.embedding.type_count = ReadTypeCount(h, 2);
  SetSumNorms(spec);
  if (is_published) {
    RefuseOthers(h, is_mixture);
    h.SetHfDefaults({{"rope_theta", h.Positive({"", "rotary_emb_base"}, 10000)}});
  } else {
    h.SetHfDefaults({{"rope_theta", 1000.0}, {"hidden_act", std::string("silu")}});
  }
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  const ActivationKind activation = is_mixture
                                        ? ActivationKind::kGeluExact
                                        : ReadActivation(h, "hidden_act", ActivationKind::kSilu);
  ReadDenseMlp(h, activation, spec, /*is_gated=*/!is_mixture,
               is_published ? "n_inner" : "intermediate_size");
  if (is_mixture) ReadNomicExperts(h, spec);
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
                      .up = {"ffn_up", is_mixture ? "mlp.fc1" : "mlp.fc11"},
                      .down = {"ffn_down", "mlp.fc2"},
                      .norm_bias = true,
                      .qkv_bias = is_mixture,
                      .attention_output_bias = is_mixture,
                      .mlp_bias = is_mixture,
                      .experts_bias = {"", "mlp.experts.bias"}},
                     std::move(spec));
  // Of what it was trained with: no part of embeddings.
  description.parameters.unused_prefixes = {"pooler.", "cls."};
  return description;
}

}  // namespace weft
