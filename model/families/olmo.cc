// OLMo (https://arxiv.org/abs/2402.00838), 2 (https://arxiv.org/abs/2501.00656) and 3
// (https://arxiv.org/abs/2512.13961).
#include "model/families/decoder.h"

namespace weft {
namespace {

ModelSpec ReadOlmo(Hyperparameters& h, std::string_view name) {
  ModelSpec spec = ReadSizes(h, name);
  SetQkNorm(HeadNorm::kAllHeads, spec);
  // Norms of what attention and MLP give, instead of those before them.
  SetOutputNorms(spec);
  for (LayerSpec& layer : spec.layers) layer.attention_norm = layer.mlp_norm = {};
  ReadDenseMlp(h, ActivationKind::kSilu, spec);
  h.RefuseUnless({"", "hidden_act"}, std::string("silu"));
  return spec;
}

// Early GGUF files have config.json's attention_factor, all of it, where others have what is to be
// multiplied with YaRN's own.
void ReadEarlyAttentionFactor(Hyperparameters& h, RopeSpec& rope) {
  constexpr Field kEarly = {"rope.scaling.attn_factor", ""};
  constexpr Field kLater = {"rope.scaling.yarn_attn_factor", ""};
  const bool is_early = rope.scaling == RopeScalingKind::kYarn && h.Has(kEarly) && !h.Has(kLater);
  if (is_early) rope.attention_factor = h.Positive(kEarly);
}

ModelDescription DescribeOlmo3(Hyperparameters& h, ModelSpec spec) {
  ReadWindows(h, AllButEvery(4, spec.layer_count()), spec);
  RopeSpec global = ReadRope(h, spec, RopePairing::kHalves);
  ReadEarlyAttentionFactor(h, global);
  // Layers with a window rotate at the same base, without the scaling.
  SetRopesByWindow(global, ReadLocalRope(h, global, spec, global.base), spec);
  return WithParameters(h, {}, std::move(spec));
}

}  // namespace

// Its norms have no weights, and their epsilon is no matter of choice.
ModelDescription DescribeOlmo(Hyperparameters& h) {
  ModelSpec spec = ReadSizes(h, "olmo", NormKind::kLayer, {.epsilon = ""});
  spec.ropes = {ReadRope(h, spec, RopePairing::kNeighbours)};
  const float clip = ReadCap(h, {"attention.clamp_kqv", "clip_qkv"});
  for (LayerSpec& layer : spec.layers) layer.attention.clip = clip;
  ReadDenseMlp(h, ActivationKind::kSilu, spec);
  h.RefuseUnless({"", "hidden_act"}, std::string("silu"));
  return WithParameters(h, {.attention_norm = {}, .mlp_norm = {}, .head_norm = {}},
                        std::move(spec));
}

// GGUF calls both olmo2; the third has windows.
ModelDescription DescribeOlmo2(Hyperparameters& h) {
  if (h.Has({"attention.sliding_window", ""})) return DescribeOlmo3(h, ReadOlmo(h, "olmo3"));
  ModelSpec spec = ReadOlmo(h, "olmo2");
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  return WithParameters(h, {}, std::move(spec));
}

ModelDescription DescribeOlmo3(Hyperparameters& h) {
  h.SetHfDefaults({{"sliding_window", int64_t{4096}}});
  return DescribeOlmo3(h, ReadOlmo(h, "olmo3"));
}

}  // namespace weft
