// EXAONE 4 (https://arxiv.org/abs/2507.11407), which has norms behind the blocks alone, and
// K-EXAONE (https://arxiv.org/abs/2601.01739), which has experts: where some layers have windows,
// the others have no RoPE.
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "model/families/decoder.h"

namespace weft {
namespace {

ModelSpec ReadExaone(Hyperparameters& h, std::string_view name) {
  h.SetHfDefaults({{"rms_norm_eps", 1e-5}, {"sliding_window", int64_t{4096}}});
  ModelSpec spec = ReadSizes(h, name);
  SetQkNorm(HeadNorm::kEachHead, spec);
  h.RefuseUnless({"", "hidden_act"}, std::string("silu"));
  return spec;
}

void ReadExaoneWindows(Hyperparameters& h, ModelSpec& spec) {
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  const bool has_windows = h.Has({"attention.sliding_window", "sliding_window"});
  ReadWindows(h, AllButEvery(4, spec.layer_count()), spec);
  for (LayerSpec& layer : spec.layers) {
    if (has_windows && layer.attention.window == 0) layer.attention.rope = AttentionSpec::kNoRope;
  }
}

// The correction of the router's choice, which was published beside the router, not in it.
void AddPublishedNames(const ModelSpec& spec, ParameterList& list) {
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const MixtureSpec* mixture = spec.layers[i].mixture();
    if (mixture == nullptr) continue;
    list.tables[static_cast<size_t>(mixture->router.correction)].sources.push_back(
        {.name = fmt::format("model.layers.{}.mlp.e_score_correction_bias", i)});
  }
}

}  // namespace

ModelDescription DescribeExaone4(Hyperparameters& h) {
  ModelSpec spec = ReadExaone(h, "exaone4");
  SetOutputNorms(spec);
  for (LayerSpec& layer : spec.layers) layer.attention_norm = layer.mlp_norm = {};
  ReadDenseMlp(h, ActivationKind::kSilu, spec);
  ReadExaoneWindows(h, spec);
  return WithParameters(h, {}, std::move(spec));
}

ModelDescription DescribeExaoneMoe(Hyperparameters& h) {
  h.SetHfDefaults({{"num_experts", int64_t{64}},
                   {"num_experts_per_tok", int64_t{8}},
                   {"num_shared_experts", int64_t{1}},
                   {"moe_intermediate_size", int64_t{1024}},
                   {"routed_scaling_factor", 2.5},
                   {"first_k_dense_replace", int64_t{1}}});
  ModelSpec spec = ReadExaone(h, "exaone-moe");
  std::vector<std::string> unused_prefixes = {"mtp."};  // of safetensors
  DropPredictionLayers(h, spec, unused_prefixes);
  ReadMixture(h, /*renormalizes=*/true, spec, RouterScore::kSigmoid);
  ReadDenseLayers(h, ReadLeadingDense(h, spec, 0), spec);
  ReadExaoneWindows(h, spec);
  ModelDescription description = WithParameters(h, {.router_correction = true}, std::move(spec));
  description.parameters.unused_prefixes = std::move(unused_prefixes);
  if (!h.is_gguf()) AddPublishedNames(description.spec, description.parameters);
  return description;
}

}  // namespace weft
