// A decoder's experts, by the words of either format.
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/quoted.h"
#include "model/families/decoder.h"

namespace weft {
namespace {

using Limits = ConfigLimits;

// llama.cpp's numbers: softmax over all experts; a sigmoid; softmax over the chosen ones.
void ReadGgufScore(Hyperparameters& h, RouterSpec& router) {
  constexpr int64_t kUnknown = 0;
  constexpr int64_t kSoftmax = 1;
  constexpr int64_t kSigmoid = 2;
  constexpr int64_t kSoftmaxOfChosen = 3;
  const Field gating_func = {"expert_gating_func", ""};
  const int64_t gating = h.Int(gating_func, {0, 16}, kUnknown);
  if (gating == kUnknown) return;
  router.score = gating == kSigmoid ? RouterScore::kSigmoid : RouterScore::kSoftmax;
  router.softmax_before_choice = gating != kSoftmaxOfChosen;
  if (gating > kSoftmaxOfChosen) {
    h.Reject(ErrorCode::kUnsupported, gating_func,
             fmt::format("is {}, expected {} (softmax), {} (sigmoid) or {} (softmax of the chosen)",
                         gating, kSoftmax, kSigmoid, kSoftmaxOfChosen));
  }
}

void ReadHfScore(Hyperparameters& h, RouterSpec& router) {
  const Field scoring_func = {"", HfKey(h, {"scoring_func", "expert_selection_fn"})};
  const std::string otherwise = router.score == RouterScore::kSigmoid ? "sigmoid" : "softmax";
  const std::string score = h.String(scoring_func, otherwise);
  // dots' name of the way in which DeepSeek-V3 balances its experts, which have sigmoids.
  const bool is_sigmoid = score == "sigmoid" || score == "noaux_tc";
  router.score = is_sigmoid ? RouterScore::kSigmoid : RouterScore::kSoftmax;
  if (!is_sigmoid && score != "softmax") {
    h.Reject(ErrorCode::kUnsupported, scoring_func,
             fmt::format("is {}, expected softmax or sigmoid", Quoted(score)));
  }
}

// DeepSeek-V2 (https://arxiv.org/abs/2405.04434) counts a group as its best expert, V3
// (https://arxiv.org/abs/2412.19437), which has the sigmoid, as its best two.
ExpertGroups ReadGroups(Hyperparameters& h, RouterScore score, int64_t expert_count) {
  constexpr auto kMost = static_cast<int64_t>(kMaxExpertGroups);
  ExpertGroups groups;
  groups.best_two = score == RouterScore::kSigmoid;
  const Field count = {"expert_group_count", "n_group"};
  const Field used = {"expert_group_used_count", "topk_group"};
  groups.count = h.Int(count, {1, kMost}, 1);
  groups.per_token = h.Int(used, {1, kMost}, groups.count);
  if (groups.count > 1 && (expert_count % groups.count != 0 || expert_count < 2 * groups.count)) {
    h.Reject(ErrorCode::kInvalidArgument, count,
             fmt::format("is {}, expected a divisor of the {} experts, at most half of them",
                         groups.count, expert_count));
  }
  if (groups.per_token > groups.count) {
    h.Reject(ErrorCode::kInvalidArgument, used,
             fmt::format("is {}, expected at most the {} groups", groups.per_token, groups.count));
  }
  return groups;
}

// Several shared experts are one that is as wide as all of them.
int64_t ReadSharedWidth(Hyperparameters& h, const MixtureSpec& mixture) {
  const Field width = {"expert_shared_feed_forward_length",
                       HfKey(h, {"shared_expert_intermediate_size", "shared_intermediate_size",
                                 "moe_shared_expert_intermediate_size"})};
  const int64_t count =
      h.Int({"expert_shared_count",
             HfKey(h, {"n_shared_experts", "moe_num_shared_experts", "num_shared_experts"})},
            {0, Limits::kExperts}, 0);
  return h.Int(width, {0, Limits::kWidth}, count * mixture.width);
}

}  // namespace

void ReadMixture(Hyperparameters& h, bool renormalizes, ModelSpec& spec, RouterScore score) {
  const int64_t layer_count = spec.layer_count();
  MixtureSpec mixture;
  RouterSpec& router = mixture.router;
  mixture.expert_count =
      h.Int({"expert_count",
             HfKey(h, {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"})},
            {1, Limits::kExperts});
  const std::vector<int64_t> experts_per_token =
      h.IntPerLayer({"expert_used_count", HfKey(h, {"num_experts_per_tok", "moe_k", "moe_topk"})},
                    {1, Limits::kExperts}, layer_count);
  Field width = {"expert_feed_forward_length", "moe_intermediate_size"};
  if (!h.Has(width)) width = {"feed_forward_length", "intermediate_size"};
  const std::vector<int64_t> widths = h.IntPerLayer(width, {1, Limits::kWidth}, layer_count);
  router.score = score;
  if (h.is_gguf()) {
    h.Ignore({"feed_forward_length", ""});  // of a dense MLP that most of these do not have
    ReadGgufScore(h, router);
  } else {
    ReadHfScore(h, router);
  }
  router.renormalize = h.Bool({"expert_weights_norm", "norm_topk_prob"}, renormalizes);
  router.scale =
      static_cast<float>(h.Positive({"expert_weights_scale", "routed_scaling_factor"}, 1.0));
  router.groups = ReadGroups(h, router.score, mixture.expert_count);
  for (size_t i = 0; i < widths.size(); ++i) {
    mixture.experts_per_token = experts_per_token[i];
    mixture.width = widths[i];
    mixture.shared.width = ReadSharedWidth(h, mixture);
    spec.layers[i].mlp = mixture;
  }
}

void ReadDenseLayers(Hyperparameters& h, const std::vector<bool>& is_dense, ModelSpec& spec,
                     std::string_view hf_width) {
  if (std::ranges::find(is_dense, true) == is_dense.end()) return;
  const std::vector<int64_t> widths =
      h.IntPerLayer({"feed_forward_length", hf_width}, {1, Limits::kWidth}, spec.layer_count());
  for (size_t i = 0; i < is_dense.size(); ++i) {
    if (is_dense[i]) spec.layers[i].mlp = DenseMlpSpec{.width = widths[i]};
  }
}

std::vector<bool> ReadLeadingDense(Hyperparameters& h, const ModelSpec& spec, int64_t otherwise,
                                   std::string_view hf_key) {
  const int64_t count =
      h.Int({"leading_dense_block_count", hf_key}, {0, spec.layer_count()}, otherwise);
  std::vector<bool> is_dense;
  for (int64_t i = 0; i < spec.layer_count(); ++i) is_dense.push_back(i < count);
  const Field types = {"", "mlp_layer_types"};
  if (!h.Has(types)) return is_dense;
  const std::vector<std::string> words = h.Strings(types);
  if (words.size() != is_dense.size()) {
    h.Reject(
        ErrorCode::kInvalidArgument, types,
        fmt::format("has {} entries, expected one a layer, {}", words.size(), is_dense.size()));
    return is_dense;
  }
  for (size_t i = 0; i < words.size(); ++i) {
    is_dense[i] = words[i] == "dense";
    if (is_dense[i] || words[i] == "sparse") continue;
    h.Reject(ErrorCode::kUnsupported, types,
             fmt::format("has {}, expected dense or sparse", Quoted(words[i])));
  }
  return is_dense;
}

bool HasGgufTensor(const Hyperparameters& h, const ModelSpec& spec, std::string_view name) {
  for (int64_t i = 0; i < spec.layer_count(); ++i) {
    if (h.tensors().contains(fmt::format("blk.{}.{}", i, name))) return true;
  }
  return false;
}

}  // namespace weft
