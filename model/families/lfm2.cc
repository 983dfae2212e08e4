// LFM2 (https://arxiv.org/abs/2511.23404): short convolutions in most layers, attention in the
// rest.
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/checked_math.h"
#include "model/families/decoder.h"
#include "model/kernels/kernels.h"

namespace weft {
namespace {

using Limits = ConfigLimits;

// The layers with a convolution.
std::vector<bool> ReadConvolutionLayers(Hyperparameters& h, const ModelSpec& spec) {
  if (h.is_gguf()) return LayersWithoutKvHeads(spec);
  const Field types = {"", "layer_types"};
  const Field attention = {"", "full_attn_idxs"};
  if (h.Has(types)) {
    h.Ignore(attention);  // says the same
    return ReadRecurrentLayers(h, spec, types, {"conv"}, {"full_attention"});
  }
  std::vector<bool> has_convolution(spec.layers.size(), h.Has(attention));
  for (const int64_t index : h.Ints(attention)) {
    if (index >= 0 && index < spec.layer_count()) {
      has_convolution[static_cast<size_t>(index)] = false;
    } else {
      h.Reject(ErrorCode::kInvalidArgument, attention,
               fmt::format("has {}, expected indices of {} layers", index, spec.layer_count()));
    }
  }
  return has_convolution;
}

// config.json's width is that of an MLP without a gate, if it is to be adjusted.
void ReadMlp(Hyperparameters& h, ModelSpec& spec) {
  const bool has_old_width = h.Has({"", "block_ff_dim"});
  ReadDenseMlp(h, ActivationKind::kSilu, spec, /*is_gated=*/true,
               has_old_width ? "block_ff_dim" : "intermediate_size");
  if (has_old_width) h.Ignore({"", "intermediate_size"});
  if (h.is_gguf() || !h.Bool({"", "block_auto_adjust_ff_dim"}, true)) return;
  const double multiplier = h.Positive({"", "block_ffn_dim_multiplier"}, 1.0);
  const int64_t multiple = h.Int({"", "block_multiple_of"}, {1, Limits::kWidth}, 256);
  for (LayerSpec& layer : spec.layers) {
    int64_t& width = std::get<DenseMlpSpec>(layer.mlp).width;
    const int64_t gated = 2 * width / 3;
    const double adjusted = multiplier * static_cast<double>(gated);
    if (adjusted < 1 || adjusted > static_cast<double>(Limits::kWidth)) {
      h.Reject(ErrorCode::kInvalidArgument, {"", "block_ffn_dim_multiplier"},
               fmt::format("makes MLPs {} wide, expected 1 to {}", adjusted, Limits::kWidth));
      return;
    }
    width = RoundUp(static_cast<int64_t>(adjusted), multiple);
  }
}

// All but the MLPs.
ModelSpec ReadLfm2(Hyperparameters& h, std::string_view architecture) {
  h.SetHfDefaults({{"rope_theta", 1e6}, {"norm_eps", 1e-5}, {"tie_word_embeddings", true}});
  HfSizeKeys keys = {.epsilon = "norm_eps"};
  keys.fewest_kv_heads = h.is_gguf() ? 0 : 1;  // in GGUF convolutions have none
  ModelSpec spec = ReadSizes(h, architecture, NormKind::kRms, keys);
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  SetQkNorm(HeadNorm::kEachHead, spec);
  const int64_t width =
      h.Int({"shortconv.l_cache", "conv_L_cache"}, {2, ConvolutionTask::kMostWidth}, 3);
  const std::vector<bool> has_convolution = ReadConvolutionLayers(h, spec);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    if (!has_convolution[i]) continue;
    spec.layers[i].attention = {.rope = AttentionSpec::kNoRope};
    spec.layers[i].short_conv = ShortConvSpec{.width = width};
  }
  return spec;
}

DecoderTensors TensorsOf(Hyperparameters& h) {
  DecoderTensors tensors;
  tensors.attention_norm = {"attn_norm", "operator_norm"};
  tensors.query_norm = {"attn_q_norm", "self_attn.q_layernorm"};
  tensors.key_norm = {"attn_k_norm", "self_attn.k_layernorm"};
  tensors.attention_output = {"attn_output", "self_attn.out_proj"};
  tensors.mlp_norm = {"ffn_norm", "ffn_norm"};
  tensors.gate = {"ffn_gate", "feed_forward.w1"};
  tensors.up = {"ffn_up", "feed_forward.w3"};
  tensors.down = {"ffn_down", "feed_forward.w2"};
  tensors.head_norm = {"token_embd_norm", "model.embedding_norm"};
  tensors.short_conv_bias = h.Bool({"", "conv_bias"}, false);
  return tensors;
}

}  // namespace

ModelDescription DescribeLfm2(Hyperparameters& h) {
  ModelSpec spec = ReadLfm2(h, "lfm2");
  ReadMlp(h, spec);
  return WithParameters(h, TensorsOf(h), std::move(spec));
}

ModelDescription DescribeLfm2Moe(Hyperparameters& h) {
  ModelSpec spec = ReadLfm2(h, "lfm2moe");
  h.SetHfDefaults({{"num_dense_layers", int64_t{2}}});
  ReadMixture(h, /*renormalizes=*/true, spec, RouterScore::kSigmoid);
  ReadDenseLayers(h, ReadLeadingDense(h, spec, 0, "num_dense_layers"), spec);
  DecoderTensors tensors = TensorsOf(h);
  tensors.router_correction = h.is_gguf() ? HasGgufTensor(h, spec, "exp_probs_b.bias")
                                          : h.Bool({"", "use_expert_bias"}, true);
  return WithParameters(h, tensors, std::move(spec));
}

}  // namespace weft
