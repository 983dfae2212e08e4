// Qwen 2 (https://arxiv.org/abs/2407.10671), its mixtures, of which Qwen 1.5 has one, too, and 3
// (https://arxiv.org/abs/2505.09388).
#include <fmt/core.h>

#include "model/families/decoder.h"

namespace weft {
namespace {

// A window counts only where it is switched on, and then above the first max_window_layers.
void ReadQwenWindows(Hyperparameters& h, ModelSpec& spec) {
  const bool switched_on = h.is_gguf() || h.Bool({"", "use_sliding_window"}, false);
  const int64_t full_layers = h.Int({"", "max_window_layers"}, {0, ConfigLimits::kLayers}, 0);
  if (!switched_on) {
    h.Ignore({"", "layer_types"});
    return;
  }
  std::vector<bool> sliding(spec.layers.size());
  for (size_t i = 0; i < sliding.size(); ++i) {
    sliding[i] = static_cast<int64_t>(i) >= full_layers;
  }
  ReadWindows(h, sliding, spec);
}

ModelSpec Read(Hyperparameters& h, std::string_view name) {
  ModelSpec spec = ReadSizes(h, name);
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  h.RefuseUnless({"", "hidden_act"}, std::string("silu"));
  ReadQwenWindows(h, spec);
  return spec;
}

// The width of experts, where an early GGUF file has it by its tensors alone: the rows of this one.
int64_t ReadGgufWidth(Hyperparameters& h, std::string_view key, std::string_view tensor) {
  const auto found = h.tensors().find(tensor);
  const int rank = found == h.tensors().end() ? 0 : found->second.rank;
  const int64_t rows = rank < 2 ? 0 : found->second.dims[static_cast<size_t>(rank - 2)];
  if (rows >= 1 && rows <= ConfigLimits::kWidth) return rows;
  h.Reject(ErrorCode::kInvalidArgument, {key, ""},
           fmt::format("is missing, and no tensor {} tells a width from 1 to {}", tensor,
                       ConfigLimits::kWidth));
  return 1;
}

void ReadWidthsOfTensors(Hyperparameters& h, ModelSpec& spec) {
  constexpr std::string_view kRouted = "expert_feed_forward_length";
  constexpr std::string_view kShared = "expert_shared_feed_forward_length";
  for (LayerSpec& layer : spec.layers) {
    auto& mixture = std::get<MixtureSpec>(layer.mlp);
    if (!h.Has({kRouted, ""})) {
      mixture.width = ReadGgufWidth(h, kRouted, "blk.0.ffn_gate_exps.weight");
    }
    if (!h.Has({kShared, ""})) {
      mixture.shared.width = ReadGgufWidth(h, kShared, "blk.0.ffn_gate_shexp.weight");
    }
  }
}

}  // namespace

ModelDescription DescribeQwen2(Hyperparameters& h) {
  ModelSpec spec = Read(h, "qwen2");
  ReadDenseMlp(h, ActivationKind::kSilu, spec);
  return WithParameters(h, {.qkv_bias = true}, std::move(spec));
}

ModelDescription DescribeQwen2Moe(Hyperparameters& h) {
  h.SetHfDefaults({{"shared_expert_intermediate_size", int64_t{5632}}});
  ModelSpec spec = Read(h, "qwen2moe");
  h.RefuseUnless({"", "qkv_bias"}, true);
  ReadMixture(h, /*renormalizes=*/false, spec);
  if (h.is_gguf()) ReadWidthsOfTensors(h, spec);
  return WithParameters(h, {.qkv_bias = true, .shared_gate = true}, std::move(spec));
}

ModelDescription DescribeQwen3(Hyperparameters& h) {
  ModelSpec spec = Read(h, "qwen3");
  SetQkNorm(HeadNorm::kEachHead, spec);
  ReadDenseMlp(h, ActivationKind::kSilu, spec);
  return WithParameters(h, {}, std::move(spec));
}

ModelDescription DescribeQwen3Moe(Hyperparameters& h) {
  ModelSpec spec = Read(h, "qwen3moe");
  SetQkNorm(HeadNorm::kEachHead, spec);
  ReadMixture(h, /*renormalizes=*/h.is_gguf(), spec);
  return WithParameters(h, {}, std::move(spec));
}

}  // namespace weft
