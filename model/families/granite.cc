// Granite 3 and 4 (https://github.com/ibm-granite), dense and with experts, with attention in all
// layers or with state spaces in most.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "model/families/decoder.h"

namespace weft {
namespace {

float ReadFactor(Hyperparameters& h, Field field) {
  return static_cast<float>(h.Positive(field, 1.0));
}

ModelSpec ReadGranite(Hyperparameters& h, std::string_view name, const HfSizeKeys& keys = {}) {
  ModelSpec spec = ReadSizes(h, name, NormKind::kRms, keys);
  spec.ropes = {ReadRope(h, spec, RopePairing::kNeighbours)};
  h.RefuseUnless({"", "hidden_act"}, std::string("silu"));
  spec.embedding.multiplier = ReadFactor(h, {"embedding_scale", "embedding_multiplier"});
  spec.head.multiplier = 1 / ReadFactor(h, {"logit_scale", "logits_scaling"});
  const float residual = ReadFactor(h, {"residual_scale", "residual_multiplier"});
  const Field scale = {"attention.scale", "attention_multiplier"};
  for (LayerSpec& layer : spec.layers) {
    layer.residual_multiplier = residual;
    // Without the key llama.cpp goes by the head, transformers does not scale at all.
    if (h.Has(scale) || !h.is_gguf()) layer.attention.scale = ReadFactor(h, scale);
  }
  return spec;
}

std::vector<bool> ReadStateSpaceLayers(Hyperparameters& h, const ModelSpec& spec) {
  const Field types = {"", "layer_types"};
  if (h.is_gguf()) return LayersWithoutKvHeads(spec);
  if (!h.Has(types)) return std::vector<bool>(spec.layers.size(), true);
  return ReadRecurrentLayers(h, spec, types, {"mamba", "linear_attention"},
                             {"attention", "full_attention"});
}

void SetSoftmaxOfChosen(ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) {
    std::get<MixtureSpec>(layer.mlp).router.softmax_before_choice = false;
  }
}

// The shared MLP of a model without experts is its only one, which GGUF may say with the key of
// those.
void ReadOnlyMlp(Hyperparameters& h, std::string_view hf_width, ModelSpec& spec) {
  ReadDenseMlp(h, ActivationKind::kSilu, spec, /*is_gated=*/true, hf_width);
  const Field shared_width = {"expert_shared_feed_forward_length", ""};
  if (!h.Has(shared_width)) return;
  h.RefuseUnless({"expert_count", ""}, int64_t{0});
  const int64_t width = h.Int(shared_width, {1, ConfigLimits::kWidth});
  for (LayerSpec& layer : spec.layers) std::get<DenseMlpSpec>(layer.mlp).width = width;
}

}  // namespace

ModelDescription DescribeGranite(Hyperparameters& h) {
  ModelSpec spec = ReadGranite(h, "granite");
  ReadOnlyMlp(h, "intermediate_size", spec);
  for (const std::string_view key : {"ssm.conv_kernel", "ssm.state_size", "ssm.group_count",
                                     "ssm.inner_size", "ssm.time_step_rank"}) {
    h.Ignore({key, ""});  // of layers that this model does not have
  }
  // Positions are a matter of choice, which GGUF has under another name.
  if (h.is_gguf() && !h.Bool({"rope.scaling.finetuned", ""}, true)) SetNoRope(spec);
  return WithParameters(h, {}, std::move(spec));
}

// Where no layer has a state space, GGUF calls it granite or granitemoe.
ModelDescription DescribeGraniteMoeHybrid(Hyperparameters& h) {
  h.SetHfDefaults({{"num_local_experts", int64_t{8}},
                   {"num_experts_per_tok", int64_t{2}},
                   {"shared_intermediate_size", int64_t{1024}},
                   {"mamba_n_heads", int64_t{128}},
                   {"mamba_n_groups", int64_t{1}},
                   {"mamba_d_state", int64_t{256}},
                   {"mamba_d_conv", int64_t{4}},
                   {"mamba_expand", int64_t{2}}});
  HfSizeKeys keys;
  keys.fewest_kv_heads = h.is_gguf() ? 0 : 1;
  ModelSpec spec = ReadGranite(h, "granite", keys);
  const std::vector<bool> has_state_space = ReadStateSpaceLayers(h, spec);
  const bool has_rope = h.is_gguf() ? h.Bool({"rope.scaling.finetuned", ""}, true)
                                    : h.String({"", "position_embedding_type"}, "nope") == "rope";
  if (!has_rope) SetNoRope(spec);
  DecoderTensors tensors = {.gate_up = {.name = {"", "shared_mlp.input_linear"}},
                            .down = {"ffn_down", "shared_mlp.output_linear"}};
  const Field experts = {"expert_count", "num_local_experts"};
  if (h.Has(experts) && !h.IsZero(experts)) {
    ReadMixture(h, /*renormalizes=*/false, spec);
    SetSoftmaxOfChosen(spec);
  } else {
    h.Ignore({"expert_used_count", ""});
    ReadOnlyMlp(h, "shared_intermediate_size", spec);
  }
  if (std::ranges::find(has_state_space, true) == has_state_space.end()) {
    return WithParameters(h, tensors, std::move(spec));
  }
  spec.architecture = "granitehybrid";
  const StateSpaceSpec space = ReadStateSpace(h, spec);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    if (has_state_space[i]) SetStateSpace(space, spec.layers[i]);
  }
  tensors.state_space_conv_bias = ReadStateSpaceConvBias(h, spec, "mamba_conv_bias");
  tensors.state_space_bias = h.Bool({"", "mamba_proj_bias"}, false);
  return WithParameters(h, tensors, std::move(spec));
}

// With a shared expert, too.
ModelDescription DescribeGraniteMoe(Hyperparameters& h) {
  ModelSpec spec = ReadGranite(h, "granitemoe");
  ReadMixture(h, /*renormalizes=*/false, spec);
  SetSoftmaxOfChosen(spec);
  return WithParameters(h, {}, std::move(spec));
}

}  // namespace weft
