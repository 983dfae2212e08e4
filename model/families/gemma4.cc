// Gemma 4 (https://ai.google.dev/gemma/docs/core/model_card_4), its text: E2B, E4B, 12B, 26B-A4B,
// 31B.
#include <cmath>

#include "model/families/decoder.h"

namespace weft {
namespace {

using Limits = ConfigLimits;

// Layers without a window have heads of another size, and may have fewer, whose values are their
// keys.
void ReadGlobalHeads(Hyperparameters& h, ModelSpec& spec) {
  const AttentionSpec first = spec.layers.front().attention;
  const int64_t global_dim =
      h.is_gguf() ? first.key_dim : h.Int({"", "global_head_dim"}, {1, Limits::kHeadDim}, 512);
  const int64_t local_dim =
      h.Int({"attention.key_length_swa", ""}, {1, Limits::kHeadDim}, first.key_dim);
  if (h.is_gguf()) h.RefuseUnless({"attention.value_length_swa", ""}, local_dim);
  const bool is_key_value = h.Bool({"", "attention_k_eq_v"}, false);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    AttentionSpec& attention = spec.layers[i].attention;
    const bool is_global = attention.window == 0;
    attention.key_dim = attention.value_dim = is_global ? global_dim : local_dim;
    attention.scale = 1;
    attention.value_norm = {.kind = NormKind::kRms,
                            .epsilon = spec.layers[i].attention_norm.epsilon};
    if (!is_global) continue;
    if (is_key_value && !h.is_gguf()) {
      attention.kv_head_count =
          h.Int({"", "num_global_key_value_heads"}, {1, Limits::kHeads}, attention.kv_head_count);
    }
    attention.values_are_keys =
        h.is_gguf() ? !h.tensors().contains("blk." + std::to_string(i) + ".attn_v.weight")
                    : is_key_value;
  }
}

// The last layers read what the last layer of their kind before them has written.
void ReadSharedLayers(Hyperparameters& h, ModelSpec& spec) {
  const int64_t shared =
      h.Int({"attention.shared_kv_layers", "num_kv_shared_layers"}, {0, spec.layer_count() - 1}, 0);
  const auto first_shared = static_cast<size_t>(spec.layer_count() - shared);
  const bool is_double_wide = h.Bool({"", "use_double_wide_mlp"}, false);
  for (size_t i = first_shared; i < spec.layers.size(); ++i) {
    AttentionSpec& attention = spec.layers[i].attention;
    for (size_t before = 0; before < first_shared; ++before) {
      const bool is_alike = spec.layers[before].attention.window == attention.window;
      if (is_alike) attention.kv_layer = static_cast<int64_t>(before);
    }
    if (attention.kv_layer == AttentionSpec::kOwnKv) {
      h.Reject(ErrorCode::kInvalidArgument, {"attention.shared_kv_layers", "num_kv_shared_layers"},
               "leaves no layer of each kind with keys and values of its own");
    }
    attention.values_are_keys = false;
    if (is_double_wide) std::get<DenseMlpSpec>(spec.layers[i].mlp).width *= 2;
  }
}

void ReadPerLayerInputs(Hyperparameters& h, ModelSpec& spec) {
  PerLayerEmbeddingSpec& embedding = spec.embedding.per_layer;
  embedding.size = h.Int({"embedding_length_per_layer_input", "hidden_size_per_layer_input"},
                         {0, Limits::kWidth}, 0);
  if (embedding.size == 0) return;
  h.RefuseUnless({"", "vocab_size_per_layer_input"}, spec.vocab_size);
  embedding.multiplier = std::sqrt(static_cast<float>(embedding.size));
  embedding.projection_multiplier = 1 / std::sqrt(static_cast<float>(spec.hidden_size));
  embedding.norm = spec.head.norm;
  for (LayerSpec& layer : spec.layers) layer.per_layer_input.norm = layer.attention_norm;
}

// Experts beside the MLP of each layer.
void ReadExperts(Hyperparameters& h, ModelSpec& spec) {
  const bool has_experts =
      h.is_gguf() ? h.Has({"expert_count", ""}) : h.Bool({"", "enable_moe_block"}, false);
  if (!has_experts) return;
  const int64_t count = h.Int({"expert_count", "num_experts"}, {1, Limits::kExperts});
  const int64_t chosen = h.Int({"expert_used_count", "top_k_experts"}, {1, Limits::kExperts});
  const int64_t width =
      h.Int({"expert_feed_forward_length", "moe_intermediate_size"}, {1, Limits::kWidth});
  for (LayerSpec& layer : spec.layers) {
    MixtureSpec mixture = {.expert_count = count,
                           .experts_per_token = chosen,
                           .width = width,
                           .activation = ActivationKind::kGeluTanh};
    mixture.router.renormalize = true;
    mixture.router.norm = mixture.experts_norm = layer.mlp_norm;
    mixture.experts_output_norm = mixture.shared_output_norm = layer.mlp_norm;
    mixture.shared = std::get<DenseMlpSpec>(layer.mlp);
    layer.mlp = mixture;
  }
}

}  // namespace

ModelDescription DescribeGemma4(Hyperparameters& h) {
  h.SetHfDefaults({{"head_dim", int64_t{256}},
                   {"hidden_size_per_layer_input", int64_t{256}},
                   {"sliding_window", int64_t{512}},
                   {"tie_word_embeddings", true}});
  ModelSpec spec = ReadSizes(h, "gemma4");
  SetOutputNorms(spec);
  SetQkNorm(HeadNorm::kEachHead, spec);
  spec.embedding.multiplier = std::sqrt(static_cast<float>(spec.hidden_size));
  spec.head.soft_cap = ReadCap(h, {"final_logit_softcapping", "final_logit_softcapping"});
  ReadDenseMlp(h, ActivationKind::kGeluTanh, spec);
  h.RefuseUnless({"", "hidden_activation"}, std::string("gelu_pytorch_tanh"));
  // Images alone are attended to in both directions.
  h.RefuseUnless({"", "use_bidirectional_attention"}, std::string("vision"));
  ReadWindows(h, AllButEvery(6, spec.layer_count()), spec);
  ReadGlobalHeads(h, spec);
  ReadSharedLayers(h, spec);
  // A quarter of the pairs of a whole head is rotated; GGUF has the others' divisors, which are
  // huge.
  h.SetHfDefaults({{"rope_parameters.full_attention", OtherValue{std::string(kObjectValue)}},
                   {"rope_parameters.full_attention.partial_rotary_factor", 0.25},
                   {"rope_parameters.full_attention.rope_theta", 1e6},
                   {"rope_parameters.full_attention.rope_type", std::string("proportional")}});
  h.RefuseUnless({"", "rope_parameters.full_attention.rope_type"}, std::string("proportional"));
  const RopeSpec global = ReadRope(h, spec, RopePairing::kHalves);
  SetRopesByWindow(global, ReadLocalRope(h, global, spec, 10000.0), spec);
  ReadPerLayerInputs(h, spec);
  ReadExperts(h, spec);
  for (LayerSpec& layer : spec.layers) layer.has_output_scale = true;
  return WithParameters(h, {.mlp_norm = {"ffn_norm", "pre_feedforward_layernorm"}},
                        std::move(spec));
}

}  // namespace weft
