// How heads are rotated by their position (https://arxiv.org/abs/2104.09864), as plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "model/kernels/kinds.h"

namespace weft {

enum class RopeScalingKind { kNone, kLinear, kLlama3, kYarn };

struct RopeSpec {
  RopePairing pairing = RopePairing::kHalves;
  bool is_reversed = false;  // pairs turn the other way round
  int64_t rotary_dim = 0;    // leading elements of a head that are rotated; even, <= the head's
  double base = 10000.0;
  RopeScalingKind scaling = RopeScalingKind::kNone;
  double factor = 1.0;                  // linear, llama3, yarn
  int64_t original_context_length = 0;  // llama3, yarn
  double low_frequency_factor = 1.0;    // llama3
  double high_frequency_factor = 4.0;   // llama3
  double beta_fast = 32.0;              // yarn
  double beta_slow = 1.0;               // yarn
  bool truncates = true;                // yarn: the ramp begins and ends at whole pairs
  double attention_factor = 1.0;        // yarn: multiplies cos and sin
  // rotary_dim / 2 of them, if the file brings its own (rope_freqs.weight).
  std::vector<float> frequency_divisors = {};
  // LongRoPE (https://arxiv.org/abs/2402.13753): those of contexts above original_context_length.
  std::vector<float> long_frequency_divisors = {};
};

}  // namespace weft
