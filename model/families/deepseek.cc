// DeepSeek-V2 (https://arxiv.org/abs/2405.04434), V3 (https://arxiv.org/abs/2412.19437), which
// Moonlight is, too, and GLM-4.7-Flash (https://huggingface.co/zai-org/GLM-4.7-Flash). GGUF has one
// name for all.
#include <cmath>

#include "model/families/decoder.h"
#include "model/rope.h"

namespace weft {
namespace {

using Limits = ConfigLimits;

// A head's query: a plain part and a rotated one. New files of llama.cpp give the sizes of what is
// cached under the keys under which old ones have those of heads.
LatentSpec ReadLatent(Hyperparameters& h, int64_t rotated_dim, const NormSpec& norm) {
  LatentSpec latent = {.rotated_dim = rotated_dim, .query_norm = norm, .norm = norm};
  latent.rank = h.Int({"attention.kv_lora_rank", "kv_lora_rank"}, {1, Limits::kWidth});
  constexpr Field kQueryRank = {"attention.q_lora_rank", "q_lora_rank"};
  if (h.Has(kQueryRank)) latent.query_rank = h.Int(kQueryRank, {0, Limits::kWidth});
  if (!h.is_gguf()) {
    latent.plain_dim = h.Int({"", "qk_nope_head_dim"}, {1, Limits::kHeadDim});
    latent.value_dim = h.Int({"", "v_head_dim"}, {1, Limits::kHeadDim});
    return latent;
  }
  const bool is_new = h.Has({"attention.key_length_mla", ""});
  if (is_new) {
    h.RefuseUnless({"attention.key_length", ""}, latent.rank + rotated_dim);
    h.RefuseUnless({"attention.value_length", ""}, latent.rank);
  }
  const Field key = {is_new ? "attention.key_length_mla" : "attention.key_length", ""};
  const Field value = {is_new ? "attention.value_length_mla" : "attention.value_length", ""};
  latent.plain_dim = h.Int(key, {rotated_dim + 1, Limits::kHeadDim}) - rotated_dim;
  latent.value_dim = h.Int(value, {1, Limits::kHeadDim});
  return latent;
}

// Where YaRN has a magnitude for all of a query, the scores have its square, and cos and sin
// nothing of it.
double ReadMagnitude(Hyperparameters& h, RopeSpec& rope) {
  if (rope.scaling != RopeScalingKind::kYarn) return 1;
  constexpr Field kGguf = {"rope.scaling.yarn_log_multiplier", ""};
  if (h.Has(kGguf) && !h.IsZero(kGguf)) {
    rope.attention_factor = 1;
    return YarnMagnitude(rope.factor, h.Positive(kGguf) / 0.1);
  }
  for (const Field field :
       {Field{"", "rope_parameters.mscale_all_dim"}, Field{"", "rope_scaling.mscale_all_dim"}}) {
    if (h.Has(field)) return YarnMagnitude(rope.factor, h.Positive(field));
  }
  return 1;
}

void ReadAttention(Hyperparameters& h, int64_t rotated_dim, ModelSpec& spec) {
  const LatentSpec latent = ReadLatent(h, rotated_dim, spec.layers.front().attention_norm);
  for (LayerSpec& layer : spec.layers) layer.attention.key_dim = rotated_dim;
  RopeSpec rope = ReadRope(h, spec, RopePairing::kNeighbours);
  // In either format, but where config.json says otherwise.
  const bool in_pairs = h.Bool({"", "rope_interleave"}, true);
  rope.pairing = in_pairs ? RopePairing::kNeighbours : RopePairing::kHalves;
  const double magnitude = ReadMagnitude(h, rope);
  spec.ropes = {rope};
  h.RefuseUnless({"", "attention_bias"}, false);
  for (LayerSpec& layer : spec.layers) {
    AttentionSpec& attention = layer.attention;
    attention.kv_head_count = 1;
    attention.key_dim = latent.rank + rotated_dim;
    attention.value_dim = latent.rank;
    attention.value_in_key = true;
    attention.scale = static_cast<float>(magnitude * magnitude /
                                         std::sqrt(static_cast<double>(latent.head_query_dim())));
    layer.latent = latent;
  }
}

// `is_v3`: the sigmoid, with a correction; GGUF shows it by that tensor.
ModelDescription DescribeLatent(Hyperparameters& h, bool is_v3) {
  const int64_t rotated_dim =
      h.Int({"rope.dimension_count", "qk_rope_head_dim"}, {2, Limits::kHeadDim});
  h.SetHfDefaults({{"head_dim", rotated_dim}, {"q_lora_rank", int64_t{1536}}});
  ModelSpec spec = ReadSizes(h, "deepseek2");
  std::vector<std::string> unused_prefixes;
  DropPredictionLayers(h, spec, unused_prefixes);
  ReadAttention(h, rotated_dim, spec);
  h.RefuseUnless({"", "hidden_act"}, std::string("silu"));
  h.RefuseUnless({"", "mlp_bias"}, false);
  if (h.is_gguf()) is_v3 = HasGgufTensor(h, spec, "exp_probs_b.bias");
  const bool is_hf_v3 = is_v3 && !h.is_gguf();
  ReadMixture(h, /*renormalizes=*/is_hf_v3, spec,
              is_v3 ? RouterScore::kSigmoid : RouterScore::kSoftmax);
  ReadDenseLayers(h, ReadLeadingDense(h, spec, 0), spec);
  ModelDescription description = WithParameters(h, {.router_correction = is_v3}, std::move(spec));
  description.parameters.unused_prefixes = std::move(unused_prefixes);
  return description;
}

}  // namespace

ModelDescription DescribeDeepseekV2(Hyperparameters& h) {
  // transformers computes neither, whatever the key says.
  h.RefuseUnless({"", "norm_topk_prob"}, false);
  constexpr Field kMethod = {"", "topk_method"};
  if (h.String(kMethod, "greedy") == "greedy") {
    h.RefuseUnless({"", "n_group"}, int64_t{1});
  } else {
    h.RefuseUnless(kMethod, std::string("group_limited_greedy"));
  }
  h.SetHfDefaults({{"n_shared_experts", int64_t{2}}});
  return DescribeLatent(h, /*is_v3=*/false);
}

ModelDescription DescribeDeepseekV3(Hyperparameters& h) {
  h.RefuseUnless({"", "topk_method"}, std::string("noaux_tc"));
  h.SetHfDefaults({{"n_shared_experts", int64_t{1}},
                   {"n_group", int64_t{8}},
                   {"topk_group", int64_t{4}},
                   {"first_k_dense_replace", int64_t{3}},
                   {"routed_scaling_factor", 2.5}});
  return DescribeLatent(h, /*is_v3=*/true);
}

ModelDescription DescribeGlm4MoeLite(Hyperparameters& h) {
  h.RefuseUnless({"", "topk_method"}, std::string("noaux_tc"));
  h.SetHfDefaults({{"rms_norm_eps", 1e-5},
                   {"n_shared_experts", int64_t{1}},
                   {"first_k_dense_replace", int64_t{1}},
                   {"routed_scaling_factor", 1.8}});
  return DescribeLatent(h, /*is_v3=*/true);
}

}  // namespace weft
