// Qwen3-Next and Qwen3.5: gated delta nets (https://arxiv.org/abs/2412.06464) in most layers,
// attention with gated outputs in the rest.
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "model/families/decoder.h"
#include "model/kernels/kernels.h"

namespace weft {
namespace {

using Limits = ConfigLimits;

// The layers without attention, where the file lists them; otherwise all but every fourth, or
// whatever the file says in place of four. In GGUF the list has the layers that were dropped, too.
std::vector<bool> ReadDeltaNetLayers(Hyperparameters& h, const ModelSpec& spec) {
  const Field types = {"attention.recurrent_layers", "layer_types"};
  const int64_t period =
      h.Int({"full_attention_interval", "full_attention_interval"}, {1, Limits::kLayers}, 4);
  if (!h.Has(types)) return AllButEvery(period, spec.layer_count());
  if (!h.is_gguf()) {
    return ReadRecurrentLayers(h, spec, types, {"linear_attention"}, {"full_attention"});
  }
  std::vector<bool> listed = h.Bools(types);
  const int64_t more = std::ssize(listed) - spec.layer_count();
  if (more > 0 && more == spec.prediction_layer_count) listed.resize(spec.layers.size());
  if (listed.size() != spec.layers.size()) {
    h.Reject(ErrorCode::kInvalidArgument, types,
             fmt::format("is no list of {}, one a layer", spec.layer_count()));
    listed.resize(spec.layers.size());
  }
  return listed;
}

// `heads_are_tiled`: in GGUF.
DeltaNetSpec ReadDeltaNet(Hyperparameters& h, const NormSpec& norm, bool heads_are_tiled) {
  constexpr Range kHeads = {1, Limits::kHeads};
  constexpr Range kDims = {1, 4096};  // a state is a product of two
  DeltaNetSpec net;
  net.key_head_count = h.Int({"ssm.group_count", "linear_num_key_heads"}, kHeads);
  net.value_head_count = h.Int({"ssm.time_step_rank", "linear_num_value_heads"}, kHeads);
  net.key_dim = h.Int({"ssm.state_size", "linear_key_head_dim"}, kDims);
  if (h.is_gguf()) {
    const Field values = {"ssm.inner_size", ""};
    const int64_t size = h.Int(values, {1, Limits::kHeads * kDims.maximum});
    net.value_dim = size / net.value_head_count;
    if (net.values() != size || net.value_dim > kDims.maximum) {
      h.Reject(ErrorCode::kInvalidArgument, values,
               fmt::format("is {}, expected {} heads of at most {}", size, net.value_head_count,
                           kDims.maximum));
      net.value_dim = 1;
    }
  } else {
    net.value_dim = h.Int({"", "linear_value_head_dim"}, kDims);
  }
  net.conv_width =
      h.Int({"ssm.conv_kernel", "linear_conv_kernel_dim"}, {2, ConvolutionTask::kMostWidth});
  net.heads_are_tiled = heads_are_tiled && h.is_gguf();
  net.norm = norm;
  return net;
}

// All but the MLPs.
ModelSpec ReadHybrid(Hyperparameters& h, std::string_view architecture, bool heads_are_tiled,
                     std::vector<std::string>& unused_prefixes) {
  h.SetHfDefaults({{"head_dim", int64_t{256}},
                   {"partial_rotary_factor", 0.25},
                   {"linear_conv_kernel_dim", int64_t{4}},
                   {"linear_key_head_dim", int64_t{128}},
                   {"linear_value_head_dim", int64_t{128}},
                   {"linear_num_key_heads", int64_t{16}},
                   {"linear_num_value_heads", int64_t{32}}});
  ModelSpec spec = ReadSizes(h, architecture);
  h.RefuseUnless({"", "hidden_act"}, std::string("silu"));
  h.RefuseUnless({"", "attn_output_gate"}, true);
  if (h.is_gguf()) {
    DropPredictionLayers(h, spec, unused_prefixes);
  } else {
    spec.prediction_layer_count = h.Int({"", "mtp_num_hidden_layers"}, {0, Limits::kLayers}, 0);
    unused_prefixes = {"mtp.", "model.mtp."};
  }
  // How text and images share the pairs of a rotation: of text all positions are the same.
  for (const char* key : {"mrope_section", "mrope_interleaved"}) {
    for (const char* object : {"rope_parameters", "rope_scaling"}) {
      const std::string field = fmt::format("{}.{}", object, key);
      h.Ignore({"", field});
    }
  }
  h.Ignore({"rope.dimension_sections", ""});
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  SetQkNorm(HeadNorm::kEachHead, spec);
  const DeltaNetSpec net = ReadDeltaNet(h, spec.head.norm, heads_are_tiled);
  const std::vector<bool> has_delta_net = ReadDeltaNetLayers(h, spec);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    if (!has_delta_net[i]) continue;
    spec.layers[i].attention = {.rope = AttentionSpec::kNoRope};
    spec.layers[i].delta_net = net;
  }
  return spec;
}

ModelDescription WithTensors(Hyperparameters& h, std::vector<std::string> unused_prefixes,
                             ModelSpec spec) {
  DecoderTensors tensors;
  tensors.mlp_norm = {"post_attention_norm", "post_attention_layernorm"};
  tensors.output_gate = true;
  tensors.shared_gate = true;
  tensors.hf_norms_less_one = true;
  ModelDescription description = WithParameters(h, tensors, std::move(spec));
  description.parameters.unused_prefixes = std::move(unused_prefixes);
  return description;
}

ModelDescription DescribeMixtures(Hyperparameters& h, std::string_view architecture,
                                  bool heads_are_tiled) {
  std::vector<std::string> unused_prefixes;
  h.SetHfDefaults(
      {{"moe_intermediate_size", int64_t{512}}, {"shared_expert_intermediate_size", int64_t{512}}});
  ModelSpec spec = ReadHybrid(h, architecture, heads_are_tiled, unused_prefixes);
  ReadMixture(h, /*renormalizes=*/true, spec);
  return WithTensors(h, std::move(unused_prefixes), std::move(spec));
}

}  // namespace

ModelDescription DescribeQwen3Next(Hyperparameters& h) {
  return DescribeMixtures(h, "qwen3next", /*heads_are_tiled=*/false);
}

ModelDescription DescribeQwen35(Hyperparameters& h) {
  std::vector<std::string> unused_prefixes;
  ModelSpec spec = ReadHybrid(h, "qwen35", /*heads_are_tiled=*/true, unused_prefixes);
  ReadDenseMlp(h, ActivationKind::kSilu, spec);
  return WithTensors(h, std::move(unused_prefixes), std::move(spec));
}

ModelDescription DescribeQwen35Moe(Hyperparameters& h) {
  return DescribeMixtures(h, "qwen35moe", /*heads_are_tiled=*/true);
}

}  // namespace weft
