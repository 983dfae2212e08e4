// The angles of rotary position embeddings (https://arxiv.org/abs/2104.09864) under every scaling.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"

namespace weft {

// Radians that one position turns each of the rotary_dim / 2 pairs by. The sources:
//   linear  https://kaiokendev.github.io/til; llama3  Llama 3.1's reference; yarn
//   https://arxiv.org/abs/2309.00071;
// all as transformers' modeling_rope_utils.py computes them. Double throughout, no libm.
std::vector<double> RopeFrequencies(const RopeConfig& rope);

// cos and sin of position * frequencies[i], times attention_factor: frequencies.size() values each.
void RopeAngles(const std::vector<double>& frequencies, double attention_factor, int64_t position,
                float* cos, float* sin);

// Yarn's factor on cos and sin: 0.1 * scale * ln(factor) + 1, and 1 where factor <= 1.
double YarnMagnitude(double factor, double scale = 1.0);

}  // namespace weft
