// The hyperparameters of a decoder-only transformer, independent of the file they came from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

// Which elements of a head RoPE rotates together. GGUF stores Llama's query and key rows permuted
// so that neighbours pair up; safetensors (and GGUF files of other families) pair i with i +
// rotary_dim / 2.
enum class RopePairing { kNeighbours, kHalves };

enum class RopeScalingKind { kNone, kLinear, kLlama3, kYarn };

struct RopeConfig {
  RopePairing pairing = RopePairing::kHalves;
  int64_t rotary_dim = 0;  // leading elements of a head that are rotated; even, <= head_dim
  double base = 10000.0;
  RopeScalingKind scaling = RopeScalingKind::kNone;
  double factor = 1.0;                  // linear, llama3, yarn
  int64_t original_context_length = 0;  // llama3, yarn
  double low_frequency_factor = 1.0;    // llama3
  double high_frequency_factor = 4.0;   // llama3
  double beta_fast = 32.0;              // yarn
  double beta_slow = 1.0;               // yarn
  double attention_factor = 1.0;        // yarn: multiplies cos and sin
  std::vector<float>
      frequency_divisors;  // rotary_dim / 2 of them, if the file brings its own (rope_freqs.weight)
};

enum class NormKind { kRms };
enum class ActivationKind { kSilu, kGelu };  // of the gated MLP: activation(gate) * up
enum class QkNorm { kNone, kPerHead, kFullWidth };

struct MoeConfig {
  int64_t expert_count = 0;  // 0: dense
  int64_t experts_per_token = 0;
  int64_t feed_forward_length = 0;  // of one expert
  bool softmax_before_choice =
      true;                  // over all experts, then choose; otherwise over the chosen ones
  bool renormalize = false;  // divide the chosen weights by their sum
};

// What an embedding is made of: the hidden state of the last position, which has seen all the
// others, or the mean of all positions'.
enum class Pooling { kLast, kMean };

struct ModelConfig {
  std::string architecture;  // the row of the table in architectures.cc: "llama", "qwen3moe", ...
  std::string name;          // for people; from the file
  int64_t vocab_size = 0;
  int64_t context_length = 0;  // that the model was trained for
  int64_t layer_count = 0;
  int64_t hidden_size = 0;
  int64_t head_count = 0;
  int64_t kv_head_count = 0;  // divides head_count
  int64_t head_dim = 0;
  int64_t feed_forward_length = 0;  // of the dense MLP
  int64_t sliding_window = 0;       // 0: none; otherwise position p sees (p - sliding_window, p]
  NormKind norm = NormKind::kRms;
  double norm_epsilon = 1e-5;
  ActivationKind activation = ActivationKind::kSilu;
  QkNorm qk_norm = QkNorm::kNone;
  Pooling pooling = Pooling::kLast;
  bool tied_head = false;  // the output head is the token embedding
  RopeConfig rope;
  MoeConfig moe;

  bool is_moe() const { return moe.expert_count > 0; }
  int64_t query_size() const { return head_count * head_dim; }
  int64_t kv_size() const { return kv_head_count * head_dim; }
};

}  // namespace weft
