// A decoder's state spaces, by the words of either format.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/quoted.h"
#include "model/families/decoder.h"
#include "model/kernels/kernels.h"

namespace weft {
namespace {

using Limits = ConfigLimits;

int64_t ReadHeadDim(Hyperparameters& h, const ModelSpec& spec, const HfStateSpaceKeys& keys,
                    int64_t head_count) {
  if (h.IsNumber({"", keys.head_dim})) return h.Int({"", keys.head_dim}, {1, Limits::kHeadDim});
  Field values = {"ssm.inner_size", keys.values};
  int64_t count = 0;
  if (h.is_gguf() || h.Has(values)) {
    count = h.Int(values, {1, Limits::kWidth});
  } else {
    constexpr int64_t kMostExpand = 1024;
    values.hf = keys.expand;
    count = h.Int(values, {1, kMostExpand}) * spec.hidden_size;
  }
  if (count % head_count == 0) return count / head_count;
  h.Reject(ErrorCode::kInvalidArgument, values,
           fmt::format("makes {} elements, expected a multiple of {}, the heads of state spaces",
                       count, head_count));
  return 1;
}

// The least and the most that a step of a state space is. (transformers holds prompts to them, and
// not what follows.)
void ReadStepLimits(Hyperparameters& h, StateSpaceSpec& space) {
  const Field field = {"", "time_step_limit"};
  const std::vector<double> limits = h.Doubles(field);
  if (limits.empty()) return;
  constexpr double kMost = std::numeric_limits<float>::max();
  if (limits.size() != 2 || !(limits[0] >= 0 && limits[0] <= limits[1] && limits[0] <= kMost)) {
    h.Reject(ErrorCode::kInvalidArgument, field,
             "is no list of the least and the most that a step may be, from 0");
    return;
  }
  space.least_dt = static_cast<float>(limits[0]);
  if (limits[1] <= kMost) space.most_dt = static_cast<float>(limits[1]);
}

}  // namespace

StateSpaceSpec ReadStateSpace(Hyperparameters& h, const ModelSpec& spec,
                              const HfStateSpaceKeys& keys) {
  StateSpaceSpec space;
  space.head_count = h.Int({"ssm.time_step_rank", keys.head_count}, {1, Limits::kHeads});
  space.head_dim = ReadHeadDim(h, spec, keys, space.head_count);
  space.group_count = h.Int({"ssm.group_count", keys.group_count}, {1, Limits::kHeads});
  space.state_dim = h.Int({"ssm.state_size", keys.state_dim}, {1, Limits::kHeadDim});
  space.conv_width = h.Int({"ssm.conv_kernel", keys.conv_width}, {2, ConvolutionTask::kMostWidth});
  space.norm = spec.head.norm;
  space.norm_group_count = space.group_count;
  ReadStepLimits(h, space);
  return space;
}

bool ReadStateSpaceConvBias(Hyperparameters& h, const ModelSpec& spec, std::string_view hf_key) {
  return h.is_gguf() ? HasGgufTensor(h, spec, "ssm_conv1d.bias") : h.Bool({"", hf_key}, true);
}

std::vector<bool> LayersWithoutKvHeads(const ModelSpec& spec) {
  std::vector<bool> without;
  for (const LayerSpec& layer : spec.layers) {
    without.push_back(layer.attention.kv_head_count == 0);
  }
  return without;
}

std::vector<bool> ReadRecurrentLayers(Hyperparameters& h, const ModelSpec& spec, Field types,
                                      std::initializer_list<std::string_view> recurrence,
                                      std::initializer_list<std::string_view> attention) {
  std::vector<bool> is_recurrent;
  for (const std::string& word : h.Strings(types)) {
    is_recurrent.push_back(std::ranges::count(recurrence, word) > 0);
    if (is_recurrent.back() || std::ranges::count(attention, word) > 0) continue;
    h.Reject(ErrorCode::kUnsupported, types,
             fmt::format("has {}, expected {} or {}", Quoted(word), *recurrence.begin(),
                         *attention.begin()));
  }
  if (std::ssize(is_recurrent) != spec.layer_count()) {
    h.Reject(ErrorCode::kInvalidArgument, types,
             fmt::format("is no list of {}, one a layer", spec.layer_count()));
    is_recurrent.resize(spec.layers.size());
  }
  return is_recurrent;
}

void SetStateSpace(const StateSpaceSpec& state_space, LayerSpec& layer) {
  layer.attention = {.rope = AttentionSpec::kNoRope};
  layer.state_space = state_space;
}

}  // namespace weft
