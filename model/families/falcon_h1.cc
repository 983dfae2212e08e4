// Falcon-H1 (https://arxiv.org/abs/2507.22448): attention and a state space side by side in every
// layer. Its many multipliers are keys of config.json; in GGUF they are in the weights.
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "model/families/decoder.h"

namespace weft {
namespace {

float ReadFactor(Hyperparameters& h, std::string_view hf_key) {
  return static_cast<float>(h.Positive({"", hf_key}, 1.0));
}

std::vector<float> ReadFactors(Hyperparameters& h, std::string_view hf_key, size_t count) {
  const Field field = {"", hf_key};
  if (!h.Has(field)) return std::vector<float>(count, 1.0F);
  const std::vector<double> numbers = h.Doubles(field);
  std::vector<float> factors(numbers.begin(), numbers.end());
  bool is_sound = factors.size() == count;
  for (const float factor : factors) is_sound = is_sound && std::isfinite(factor);
  if (is_sound) return factors;
  h.Reject(ErrorCode::kInvalidArgument, field,
           fmt::format("is no list of {} finite numbers", count));
  return std::vector<float>(count, 1.0F);
}

// A factor of what attention reads is one of queries, keys and values.
void ReadAttentionFactors(Hyperparameters& h, AttentionSpec& attention) {
  const float in = ReadFactor(h, "attention_in_multiplier");
  attention.scale *= in * in * ReadFactor(h, "key_multiplier");
  attention.multiplier = in * ReadFactor(h, "attention_out_multiplier");
}

StateSpaceSpec::Multipliers ReadStateSpaceFactors(Hyperparameters& h) {
  const float in = ReadFactor(h, "ssm_in_multiplier");
  const std::vector<float> parts = ReadFactors(h, "ssm_multipliers", 5);
  return {.gate = in * parts[0],
          .x = in * parts[1],
          .b = in * parts[2],
          .c = in * parts[3],
          .dt = in * parts[4],
          .output = ReadFactor(h, "ssm_out_multiplier")};
}

// llama.cpp has no key for what comes first, and gates first.
void ReadStateSpaceNorm(Hyperparameters& h, const ModelSpec& spec, StateSpaceSpec& space) {
  const bool has_norm = h.is_gguf() ? HasGgufTensor(h, spec, "ssm_norm.weight")
                                    : h.Bool({"", "mamba_rms_norm"}, false);
  if (!has_norm) space.norm = {};
  space.norm_before_gate = !h.is_gguf() && h.Bool({"", "mamba_norm_before_gate"}, true);
}

}  // namespace

ModelDescription DescribeFalconH1(Hyperparameters& h) {
  h.SetHfDefaults({{"rms_norm_eps", 1e-5},
                   {"num_key_value_heads", int64_t{8}},
                   {"mamba_n_heads", int64_t{128}},
                   {"mamba_d_ssm", int64_t{1024}},
                   {"mamba_n_groups", int64_t{1}},
                   {"mamba_d_state", int64_t{256}},
                   {"mamba_d_conv", int64_t{4}},
                   {"mamba_expand", int64_t{2}}});
  h.RefuseUnless({"", "hidden_act"}, std::string("silu"));
  // Multipliers are of products without biases.
  for (const std::string_view key : {"mamba_proj_bias", "projectors_bias"}) {
    h.RefuseUnless({"", key}, false);
  }
  ModelSpec spec = ReadSizes(h, "falcon-h1");
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  spec.embedding.multiplier = ReadFactor(h, "embedding_multiplier");
  spec.head.multiplier = ReadFactor(h, "lm_head_multiplier");
  ReadDenseMlp(h, ActivationKind::kSilu, spec);
  StateSpaceSpec space = ReadStateSpace(h, spec, {.values = "mamba_d_ssm"});
  ReadStateSpaceNorm(h, spec, space);
  space.multipliers = ReadStateSpaceFactors(h);
  const std::vector<float> of_mlp = ReadFactors(h, "mlp_multipliers", 2);
  AttentionSpec attention = spec.layers.front().attention;
  ReadAttentionFactors(h, attention);
  for (LayerSpec& layer : spec.layers) {
    layer.attention.scale = attention.scale;
    layer.attention.multiplier = attention.multiplier;
    layer.state_space = space;
    auto& mlp = std::get<DenseMlpSpec>(layer.mlp);
    mlp.gate_multiplier = of_mlp[0];
    mlp.multiplier = of_mlp[1];
  }
  DecoderTensors tensors;
  tensors.mlp_norm = {"ffn_norm", "pre_ff_layernorm"};
  tensors.gate = {"ffn_gate", "feed_forward.gate_proj"};
  tensors.up = {"ffn_up", "feed_forward.up_proj"};
  tensors.down = {"ffn_down", "feed_forward.down_proj"};
  tensors.head_norm = {"output_norm", "model.final_layernorm"};
  tensors.state_space_conv_bias = ReadStateSpaceConvBias(h, spec, "mamba_conv_bias");
  return WithParameters(h, tensors, std::move(spec));
}

}  // namespace weft
