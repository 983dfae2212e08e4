// Blocks that keep a state of fixed size of a sequence, as plain data. D is the hidden size.
#pragma once

#include <cstdint>
#include <limits>

#include "model/spec_parts.h"

namespace weft {

// A short convolution in place of attention (LFM2, https://arxiv.org/abs/2511.23404): of a
// position's b, c and x, parts of one projection, output(c * conv(b * x)), where each channel is
// convolved by itself with those of the last `width` positions.
struct ShortConvSpec {
  int64_t width = 0;
  LinearSpec input = {};            // (3 D, D): b, c, x
  TableId weight = TableId::kNone;  // (width, D), the oldest position first
  TableId bias = TableId::kNone;    // (D)
  LinearSpec output = {};           // (D, D)
};

// A gated delta net in place of attention (https://arxiv.org/abs/2412.06464; Qwen3-Next): queries,
// keys and values, convolved and activated by SiLU, pass the delta rule in a state of (key_dim,
// value_dim) for each value head. With b and a the row's products with `beta` and `decay`:
// beta = sigmoid(b), decay = exp(decay_rate * softplus(a + decay_bias)). Queries and keys are
// divided by their length, queries by sqrt(key_dim), too. output(norm(delta rule) * silu(gate(x))).
struct DeltaNetSpec {
  int64_t key_head_count = 0;  // of queries, too
  int64_t value_head_count = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  int64_t conv_width = 0;
  // Value head v has key head v % key_head_count; or v / (value heads a key head).
  bool heads_are_tiled = false;
  LinearSpec query = {};                 // (keys, D)
  LinearSpec key = {};                   // (keys, D)
  LinearSpec value = {};                 // (values, D)
  LinearSpec gate = {};                  // (values, D)
  LinearSpec beta = {};                  // (value heads, D)
  LinearSpec decay = {};                 // (value heads, D)
  TableId conv_weight = TableId::kNone;  // (conv_width, channels), the oldest position first
  TableId decay_rate = TableId::kNone;   // (value heads), below 0
  TableId decay_bias = TableId::kNone;   // (value heads)
  NormSpec norm = {};                    // of a value head
  LinearSpec output = {};                // (D, values)

  int64_t keys() const { return key_head_count * key_dim; }
  int64_t values() const { return value_head_count * value_dim; }
  int64_t channels() const { return 2 * keys() + values(); }
  int64_t conv_floats() const { return (conv_width - 1) * channels(); }
  int64_t state_floats() const { return conv_floats() + value_head_count * key_dim * value_dim; }
};

// Mamba-2 (https://arxiv.org/abs/2405.21060): of a row's gate, x, B, C and dt, parts of one
// projection, x, B and C are convolved and activated by SiLU; with dt = softplus(dt + dt_bias),
// within its limits, each head's state of (state_dim, head_dim) is state * exp(rate * dt) + B (dt *
// x), and its output C state + skip * x. B and C are shared by the heads of a group.
struct StateSpaceSpec {
  // Of the projection's parts, and of what the last product reads.
  struct Multipliers {
    float gate = 1;
    float x = 1;
    float b = 1;
    float c = 1;
    float dt = 1;
    float output = 1;
  };

  int64_t head_count = 0;
  int64_t head_dim = 0;
  int64_t group_count = 0;
  int64_t state_dim = 0;
  int64_t conv_width = 0;
  float least_dt = 0;
  float most_dt = std::numeric_limits<float>::infinity();
  LinearSpec input = {};                 // (values + channels + heads, D): gate, x, B, C, dt
  TableId conv_weight = TableId::kNone;  // (conv_width, channels), the oldest position first
  TableId conv_bias = TableId::kNone;    // (channels)
  TableId rate = TableId::kNone;         // (heads), below 0
  TableId dt_bias = TableId::kNone;      // (heads)
  TableId skip = TableId::kNone;         // (heads)
  NormSpec norm = {};                    // of values / norm_group_count each; or none
  int64_t norm_group_count = 1;
  bool norm_before_gate = false;  // norm(y) * silu(gate), or norm(y * silu(gate))
  LinearSpec output = {};         // (D, values)
  Multipliers multipliers = {};

  int64_t values() const { return head_count * head_dim; }
  int64_t channels() const { return values() + 2 * group_count * state_dim; }
  int64_t projected() const { return values() + channels() + head_count; }
  int64_t conv_floats() const { return (conv_width - 1) * channels(); }
  int64_t state_floats() const { return conv_floats() + head_count * state_dim * head_dim; }
};

}  // namespace weft
