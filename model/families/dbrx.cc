// DBRX (https://www.databricks.com/blog/introducing-dbrx-new-state-art-open-llm).
#include <string>

#include <fmt/core.h>

#include "model/families/decoder.h"

namespace weft {
namespace {

// config.json's own names of what others have, too.
void SetNames(Hyperparameters& h) {
  h.ExpectObject({"", "attn_config"});
  h.ExpectObject({"", "ffn_config"});
  const auto size = [&](std::string_view key, int64_t most, int64_t otherwise) {
    return h.Int({"", key}, {1, most}, otherwise);
  };
  constexpr int64_t kExperts = ConfigLimits::kExperts;
  h.SetHfDefaults(
      {{"attn_config.kv_n_heads", int64_t{1}},
       {"rope_theta", h.Positive({"", "attn_config.rope_theta"}, 10000.0)},
       {"num_experts", size("ffn_config.moe_num_experts", kExperts, 4)},
       {"num_experts_per_tok", size("ffn_config.moe_top_k", kExperts, 1)},
       {"intermediate_size", size("ffn_config.ffn_hidden_size", ConfigLimits::kWidth, 3584)},
       {"ffn_config.moe_normalize_expert_weights", 1.0}});
}

// In safetensors all experts are one tensor of two dimensions, what they give transposed.
void PlaceExperts(const ModelSpec& spec, ParameterList& list) {
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const auto& mixture = std::get<MixtureSpec>(spec.layers[i].mlp);
    const std::string prefix = fmt::format("transformer.blocks.{}.ffn.", i);
    const auto place = [&](StackId stack, const char* name, bool is_transposed) {
      list.stacks[static_cast<size_t>(stack)].sources = {{.name = prefix + "experts.mlp." + name,
                                                          .is_transposed = is_transposed,
                                                          .entry_rows = mixture.width}};
    };
    place(mixture.gate, "w1", false);
    place(mixture.up, "v1", false);
    place(mixture.down, "w2", true);
    list.tables[static_cast<size_t>(mixture.router.weight)].sources = {
        {.name = prefix + "router.layer.weight"}};
  }
}

}  // namespace

ModelDescription DescribeDbrx(Hyperparameters& h) {
  SetNames(h);
  ModelSpec spec = ReadSizes(h, "dbrx", NormKind::kLayer,
                             {.context_length = "max_seq_len",
                              .layer_count = "n_layers",
                              .hidden_size = "d_model",
                              .head_count = "n_heads",
                              .kv_head_count = "attn_config.kv_n_heads",
                              .epsilon = ""});
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  const float clip = ReadCap(h, {"attention.clamp_kqv", "attn_config.clip_qkv"});
  for (LayerSpec& layer : spec.layers) layer.attention.clip = clip;
  const Field norm = {"", "ffn_config.moe_normalize_expert_weights"};
  ReadMixture(h, /*renormalizes=*/h.is_gguf() || h.Has(norm), spec);
  h.RefuseUnless(norm, 1.0);
  h.RefuseUnless({"", "ffn_config.ffn_act_fn.name"}, std::string("silu"));
  ModelDescription description =
      WithParameters(h,
                     {.hf_layers = "transformer.blocks",
                      .embedding = {"token_embd", "transformer.wte"},
                      .attention_norm = {"attn_norm", "norm_attn_norm.norm_1"},
                      .qkv = {.name = {"attn_qkv", "norm_attn_norm.attn.Wqkv"}},
                      .attention_output = {"attn_output", "norm_attn_norm.attn.out_proj"},
                      .mlp_norm = {"attn_output_norm", "norm_attn_norm.norm_2"},
                      .head_norm = {"output_norm", "transformer.norm_f"}},
                     std::move(spec));
  if (!h.is_gguf()) PlaceExperts(description.spec, description.parameters);
  return description;
}

}  // namespace weft
