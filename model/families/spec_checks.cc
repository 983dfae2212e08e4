#include "model/families/spec_checks.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "model/hyperparameters.h"
#include "model/rope.h"

namespace weft {
namespace {

Result<void> CheckRotaryDim(const RopeSpec& rope, int64_t head_dim, const std::string& path) {
  if (rope.rotary_dim % 2 == 0 && rope.rotary_dim > 0 && rope.rotary_dim <= head_dim) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "{}: RoPE rotates {} dimensions of a head, expected an even number from 2 to the "
              "head's {}",
              path, rope.rotary_dim, head_dim);
}

Result<void> CheckRope(const RopeSpec& rope, const std::string& path) {
  WEFT_RETURN_IF_ERROR(CheckRotaryDim(rope, rope.rotary_dim, path));
  if (!rope.frequency_divisors.empty() &&
      std::ssize(rope.frequency_divisors) != rope.rotary_dim / 2) {
    return Fail(ErrorCode::kInvalidArgument, "{}: {} RoPE frequency divisors, expected {}", path,
                rope.frequency_divisors.size(), rope.rotary_dim / 2);
  }
  if (rope.scaling == RopeScalingKind::kLlama3 &&
      !(rope.high_frequency_factor >= rope.low_frequency_factor)) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: RoPE high_freq_factor {} is below low_freq_factor {}", path,
                rope.high_frequency_factor, rope.low_frequency_factor);
  }
  // Angles stay where exact::Sin and exact::Cos are defined. Written so that NaN fails.
  const std::vector<double> frequencies = RopeFrequencies(rope);
  const auto sound = [](double frequency) { return frequency >= 0 && frequency <= 1; };
  if (!std::ranges::all_of(frequencies, sound)) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: RoPE base {} and scaling factor {} turn a pair by more than 1 radian a "
                "position",
                path, rope.base, rope.factor);
  }
  return {};
}

Result<void> CheckMixture(const MixtureSpec& mixture, const std::string& path) {
  if (mixture.experts_per_token > mixture.expert_count) {
    return Fail(ErrorCode::kInvalidArgument, "{}: {} experts per token, but only {} experts", path,
                mixture.experts_per_token, mixture.expert_count);
  }
  const ExpertGroups& groups = mixture.router.groups;
  const int64_t within_reach = mixture.expert_count / groups.count * groups.per_token;
  if (mixture.experts_per_token > within_reach) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: {} experts per token, but only {} in the {} groups of a token", path,
                mixture.experts_per_token, within_reach, groups.per_token);
  }
  if (groups.count > 1 && mixture.router.score == RouterScore::kSparseMixer) {
    return Fail(ErrorCode::kUnsupported, "{}: groups of experts with a sparse mixer", path);
  }
  return {};
}

Result<void> CheckHeads(const AttentionSpec& attention, const std::string& path) {
  if (attention.head_count % attention.kv_head_count != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: {} attention heads cannot share {} key-value heads: expected a divisor", path,
                attention.head_count, attention.kv_head_count);
  }
  if (attention.key_dim % 2 != 0) {
    return Fail(ErrorCode::kUnsupported, "{}: head dimension {} is odd, expected an even one", path,
                attention.key_dim);
  }
  return {};
}

Result<void> CheckDeltaNet(const DeltaNetSpec& net, const std::string& path) {
  if (net.value_head_count % net.key_head_count != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: {} value heads of a delta net cannot share {} key heads: expected a divisor",
                path, net.value_head_count, net.key_head_count);
  }
  return {};
}

Result<void> CheckStateSpace(const StateSpaceSpec& space, const std::string& path) {
  if (space.head_count % space.group_count != 0 || space.values() % space.norm_group_count != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: {} heads of {} of a state space cannot share {} groups: expected a divisor",
                path, space.head_count, space.head_dim, space.group_count);
  }
  if (space.values() > ConfigLimits::kWidth) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: a state space of {} heads of {}, expected at most {} elements", path,
                space.head_count, space.head_dim, ConfigLimits::kWidth);
  }
  if (!(space.least_dt >= 0 && space.least_dt <= space.most_dt)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: a state space's steps are from {} to {}", path,
                space.least_dt, space.most_dt);
  }
  return {};
}

Result<void> CheckLayer(const LayerSpec& layer, const std::string& path) {
  if (layer.attention) WEFT_RETURN_IF_ERROR(CheckHeads(layer.attention, path));
  if (layer.delta_net) WEFT_RETURN_IF_ERROR(CheckDeltaNet(*layer.delta_net, path));
  if (layer.state_space) WEFT_RETURN_IF_ERROR(CheckStateSpace(*layer.state_space, path));
  if (layer.is_parallel && (layer.attention_output_norm || layer.mlp_output_norm ||
                            layer.attention_sum_norm || layer.residual_multiplier != 1)) {
    return Fail(ErrorCode::kUnsupported,
                "{}: norms of outputs or sums, or a residual multiplier, in a parallel layer",
                path);
  }
  const MixtureSpec* mixture = layer.mixture();
  return mixture == nullptr ? Result<void>() : CheckMixture(*mixture, path);
}

Result<void> CheckLayers(const ModelSpec& spec, const std::string& path) {
  for (const LayerSpec& layer : spec.layers) WEFT_RETURN_IF_ERROR(CheckLayer(layer, path));
  return {};
}

// A layer that reads an earlier one's keys and values must find heads like its own there.
Result<void> CheckSharedKv(const std::vector<LayerSpec>& layers, const std::string& path) {
  for (size_t i = 0; i < layers.size(); ++i) {
    const AttentionSpec& attention = layers[i].attention;
    if (attention.kv_layer == AttentionSpec::kOwnKv) continue;
    const auto source = static_cast<size_t>(attention.kv_layer);
    WEFT_CHECK(source < i);
    const AttentionSpec& owner = layers[source].attention;
    if (owner.kv_layer == AttentionSpec::kOwnKv && owner.kv_head_count == attention.kv_head_count &&
        owner.key_dim == attention.key_dim && owner.value_dim == attention.value_dim) {
      continue;
    }
    return Fail(ErrorCode::kInvalidArgument,
                "{}: layer {} with {} KV heads of {} cannot read the {} of {} of layer {}", path, i,
                attention.kv_head_count, attention.key_dim, owner.kv_head_count, owner.key_dim,
                source);
  }
  return {};
}

// Every rotation, under each of its sets of divisors, in every layer that it turns.
Result<void> CheckRopes(const ModelSpec& spec, const std::string& path) {
  for (const RopeSpec& rope : spec.ropes) {
    WEFT_RETURN_IF_ERROR(CheckRope(rope, path));
    if (rope.long_frequency_divisors.empty()) continue;
    RopeSpec long_rope = rope;
    long_rope.frequency_divisors = rope.long_frequency_divisors;
    WEFT_RETURN_IF_ERROR(CheckRope(long_rope, path));
  }
  for (const LayerSpec& layer : spec.layers) {
    if (layer.attention.rope == AttentionSpec::kNoRope) continue;
    const int64_t rotated = layer.latent ? layer.latent->rotated_dim : layer.attention.key_dim;
    WEFT_RETURN_IF_ERROR(
        CheckRotaryDim(spec.ropes[static_cast<size_t>(layer.attention.rope)], rotated, path));
  }
  return {};
}

}  // namespace

Result<void> CheckSpec(const ModelSpec& spec, const std::string& path) {
  WEFT_RETURN_IF_ERROR(CheckLayers(spec, path));
  if (spec.encoder) {
    WEFT_RETURN_IF_ERROR(CheckLayers(*spec.encoder, path));
    WEFT_CHECK(spec.encoder->hidden_size == spec.hidden_size && spec.encoder->ropes.empty());
  }
  if (spec.embedding.size > spec.hidden_size) {
    return Fail(ErrorCode::kUnsupported,
                "{}: embeddings have {} elements, expected at most the hidden size {}", path,
                spec.embedding.size, spec.hidden_size);
  }
  if (std::ranges::all_of(spec.layers,
                          [](const LayerSpec& layer) { return layer.mixer_count() == 0; })) {
    return Fail(
        ErrorCode::kUnsupported,
        "{}: no layer reads earlier positions, expected attention or a recurrence in one of {}",
        path, spec.layer_count());
  }
  WEFT_RETURN_IF_ERROR(CheckSharedKv(spec.layers, path));
  return CheckRopes(spec, path);
}

}  // namespace weft
