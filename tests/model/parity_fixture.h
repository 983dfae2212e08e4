// The fixtures of tests/tools/make_parity_fixtures.py.
#pragma once

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/tensor.h"
#include "tests/model/model_fixture.h"

namespace weft {

// Those with a GGUF file beside the Hugging Face directory.
inline constexpr std::array kParityFixtures = {
    "apertus",               // xIELU
    "arcee",                 // squared ReLU without a gate, YaRN in a Llama
    "bloom",                 // ALiBi, norm of the embedding, QKV by head
    "cohere",                // parallel layers, a QK norm a head, scaled logits
    "cohere2",               // windows with RoPE, the rest without
    "cohere2_moe",           // the mean of experts and a shared one, a dense first layer
    "dbrx",                  // layer norms, clipped queries, keys and values, experts
    "deepseek_v2",           // latent attention, YaRN with a magnitude
    "deepseek_v2_groups",    // groups of experts by their best one, queries with a latent
    "deepseek_v3",           // groups by their best two, correction, sigmoid
    "dots1",                 // a dense first layer, two shared experts
    "ernie4_5",              // neighbours rotated in both formats
    "ernie4_5_moe",          // corrected softmax
    "exaone4",               // norms of outputs alone, no RoPE in full layers
    "exaone4_small",         // no windows
    "exaone_moe",            // windows with RoPE, the rest without, corrected experts
    "falcon_40b",            // two norms in parallel layers, groups of heads
    "falcon_7b",             // one norm in parallel layers, one key-value head
    "falcon_h1",             // attention beside a state space, multipliers
    "falcon_h1_norm",        // a norm behind the gate
    "gemma",                 // norms less 1, a multiplied embedding
    "gemma2",                // soft caps, a window in every other layer, norms of outputs
    "gemma3",                // two rotations, windows in five of six layers
    "gemma4_conditional",    // the text of a checkpoint with images
    "gemma4_dense",          // heads of two sizes, values that are keys
    "gemma4_e2b",            // inputs a layer, keys and values of earlier layers
    "gemma4_moe",            // experts beside an MLP
    "glm",                   // as glm4, without norms of outputs
    "glm4",                  // fused gate and up, norms of outputs, part of a head rotated
    "glm4_moe",              // biases, half a head rotated
    "glm4_moe_lite",         // latent attention without YaRN
    "gpt2",                  // learned positions, transposed matrices
    "gpt_bigcode",           // one key-value head
    "gpt_neox",              // QKV by head, parallel layers with two norms
    "gpt_oss",               // sinks, MXFP4 experts with biases
    "granite",               // multipliers
    "granitehybrid",         // state spaces, attention without positions
    "granitehybrid_moe",     // experts and a shared one besides
    "granitemoe",            // softmax over the chosen experts
    "granitemoehybrid",      // the shared MLP alone
    "granitemoeshared",      // a shared expert, fused
    "hunyuan_v1_dense",      // QK norm after RoPE, a base from alpha
    "hunyuan_v1_moe",        // QK norm after RoPE, a shared expert
    "jais2",                 // layer norms, squared ReLU, biases
    "llama2",                // multi-head attention, float32 shards
    "llama3",                // its RoPE scaling, tied head
    "lfm2",                  // short convolutions in most layers
    "lfm2_moe",              // experts chosen with a bias, short convolutions
    "llama4",                // weighted inputs of experts, layers without RoPE
    "llama4_conditional",    // the text of a checkpoint with images
    "llama_linear",          // linear RoPE scaling
    "llama_partial_rotary",  // half a head rotated
    "llama_yarn",            // YaRN
    "mamba2",                // state spaces alone
    "mellum",                // experts, windows, YaRN in the layers without
    "minimax_m2",            // QK norm over all heads, half a head rotated
    "ministral3",            // queries scaled by position
    "mistral",               // a window shorter than the prompt
    "mistral3_conditional",  // the text of a checkpoint with images
    "mixtral",               // a mixture
    "mpt",                   // ALiBi, clipped queries, keys and values
    "nemotron",              // layer norms less 1, squared ReLU
    "nemotron_h",            // a layer is a state space, attention or an MLP
    "nemotron_h_moe",        // or experts
    "olmo",                  // norms without weights, clipped queries, keys and values
    "olmo2",                 // norms of outputs alone
    "olmo3",                 // windows, YaRN in the layers without
    "olmoe",                 // weights not renormalised, QK norm over all heads
    "phi",                   // parallel layers, head with bias
    "phi3",                  // fused QKV, gate and up
    "phi4_mini",             // LongRoPE
    "phimoe",                // sparse mixer, layer norms, biases
    "qwen2",                 // biases
    "qwen2_moe",             // a gated shared expert
    "qwen3",                 // QK norm
    "qwen3_5",               // delta nets, gated attention, a layer that guesses further ahead
    "qwen3_5_moe",           // delta nets and experts
    "qwen3_moe",             // fused expert tensors
    "qwen3_next",            // delta nets whose projections are by head, experts
    "seed_oss",              // QKV biases, heads wider than the rest
    "smollm3",               // no rotation in every fourth layer
    "solar_open",            // GLM without norms and biases
    "stablelm",              // a third of a head rotated, biases
    "starcoder2",            // biases everywhere
};

// Those whose family has no GGUF, or none that tells what they compute.
inline constexpr std::array kParityFixturesWithoutGguf = {
    "biogpt",              // positions from 2 on, a multiplied embedding
    "codegen",             // queries, values and keys by device
    "cohere2_moe_sum",     // softmax over the chosen, RMS norms, windows from the dense layer on
    "cwm",                 // windows, the first layer without
    "falcon_h1_pre_norm",  // attention beside a state space, a norm before the gate
    "falcon_rw",           // ALiBi, QKV by head
    "flex_olmo",           // norms of outputs alone, experts
    "gemma3_conditional",  // the text of a checkpoint with images
    "gpt_bigcode_heads",   // QKV by head
    "gpt_neo",             // unscaled scores, windows
    "gptj",                // parallel layers, neighbours rotated
    "helium",              // neighbours rotated
    "hyperclovax",         // multipliers, norms of outputs
    "lfm2_bias",           // wider short convolutions, with biases
    "llama4_chunks",       // chunks and temperatures of a short prompt
    "mamba2_bias",         // state spaces of one group, with biases
    "ministral",           // windows where listed
    "nanochat",            // norms without weights, rotation the other way round
    "opt",                 // positions from 2 on, ReLU
    "opt_350m",            // norms of sums, narrow embeddings
    "persimmon",           // QK norm with biases
    "phimoe_jitter",       // a sparse mixer of which more is near
    "qwen3_5_moe_conditional",  // the text of a checkpoint with images
    "stablelm_parallel",        // parallel layers, a QK norm a head
    "starcoder2_window",        // windows
    "vaultgemma",               // soft caps, a window in every other layer
    "xglm",                     // sinusoids
};

// One prompt, the reference's greedy continuation, and its logits after each of their tokens.
struct ParityCase {
  std::vector<TokenId> prompt;
  std::vector<TokenId> continuation;
  std::vector<std::vector<float>> logits;

  std::vector<TokenId> tokens() const {
    std::vector<TokenId> all = prompt;
    all.insert(all.end(), continuation.begin(), continuation.end());
    return all;
  }
};

inline std::vector<ParityCase> ReadParityCases(const std::string& fixture) {
  std::ifstream text(ParityPath(fixture, "expected.json"));
  const auto json = nlohmann::json::parse(text);
  std::ifstream logits(ParityPath(fixture, "logits.f32"), std::ios::binary);
  std::vector<ParityCase> cases;
  for (const auto& entry : json.at("cases")) {
    ParityCase next{entry.at("prompt"), entry.at("continuation"), {}};
    for (size_t row = 0; row < next.prompt.size() + next.continuation.size(); ++row) {
      std::vector<float> values(json.at("vocab_size").get<size_t>());
      logits.read(reinterpret_cast<char*>(values.data()),
                  static_cast<std::streamsize>(values.size() * sizeof(float)));
      next.logits.push_back(std::move(values));
    }
    cases.push_back(std::move(next));
  }
  EXPECT_TRUE(logits.good() && logits.peek() == std::ifstream::traits_type::eof()) << fixture;
  return cases;
}

inline size_t Argmax(const std::vector<float>& values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

// L2 of the difference over L2 of the reference, over all rows.
inline double RelativeError(const std::vector<std::vector<float>>& found,
                            const std::vector<std::vector<float>>& expected) {
  double difference = 0;
  double norm = 0;
  for (size_t row = 0; row < expected.size(); ++row) {
    for (size_t i = 0; i < expected[row].size(); ++i) {
      const double e = expected[row][i];
      const double f = found.at(row).at(i);
      difference += (f - e) * (f - e);
      norm += e * e;
    }
  }
  return std::sqrt(difference / norm);
}

}  // namespace weft
