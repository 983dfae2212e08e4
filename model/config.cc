#include "model/config.h"

#include <algorithm>

#include "model/formats/config_readers.h"
#include "model/rope.h"

namespace weft {

Result<void> CheckConfig(const ModelConfig& config, const std::string& path) {
  if (config.head_count % config.kv_head_count != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: {} attention heads cannot share {} key-value heads: expected a divisor", path,
                config.head_count, config.kv_head_count);
  }
  if (config.head_dim % 2 != 0) {
    return Fail(ErrorCode::kUnsupported, "{}: head dimension {} is odd, expected an even one", path,
                config.head_dim);
  }
  const RopeConfig& rope = config.rope;
  if (rope.rotary_dim % 2 != 0 || rope.rotary_dim <= 0 || rope.rotary_dim > config.head_dim) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: RoPE rotates {} dimensions of a head, expected an even number from 2 to the "
                "head's {}",
                path, rope.rotary_dim, config.head_dim);
  }
  if (!rope.frequency_divisors.empty() &&
      std::ssize(rope.frequency_divisors) != rope.rotary_dim / 2) {
    return Fail(ErrorCode::kInvalidArgument, "{}: {} RoPE frequency divisors, expected {}", path,
                rope.frequency_divisors.size(), rope.rotary_dim / 2);
  }
  if (rope.scaling == RopeScalingKind::kLlama3 &&
      !(rope.high_frequency_factor > rope.low_frequency_factor)) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: RoPE high_freq_factor {} must exceed low_freq_factor {}", path,
                rope.high_frequency_factor, rope.low_frequency_factor);
  }
  // Angles stay where exact::Sin and exact::Cos are defined. Written so that NaN fails.
  const std::vector<double> frequencies = RopeFrequencies(rope);
  const auto sound = [](double frequency) { return frequency >= 0 && frequency <= 1; };
  if (!std::all_of(frequencies.begin(), frequencies.end(), sound)) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: RoPE base {} and scaling factor {} turn a pair by more than 1 radian a "
                "position",
                path, rope.base, rope.factor);
  }
  if (config.is_moe() && config.moe.experts_per_token > config.moe.expert_count) {
    return Fail(ErrorCode::kInvalidArgument, "{}: {} experts per token, but only {} experts", path,
                config.moe.experts_per_token, config.moe.expert_count);
  }
  return {};
}

}  // namespace weft
