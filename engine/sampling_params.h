// How a request's tokens are chosen and what ends its text.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/tensor.h"

namespace weft {

// The links of the chain that a row of logits passes (sampler.h).
enum class SamplerStage : uint8_t {
  kPenalties,
  kDry,
  kTemperature,
  kTopNSigma,
  kTopK,
  kTypicalP,
  kTopP,
  kMinP,
  kXtc,
};

// Penalties first, then Hugging Face's order: temperature before the filters.
std::vector<SamplerStage> DefaultSamplers();

// "Don't Repeat Yourself": a token that would lengthen a repetition of `length` tokens loses
// multiplier * base^(length - allowed_length). p-e-w, text-generation-webui pull request 5677.
struct DryParams {
  double multiplier = 0;  // 0: off
  double base = 1.75;
  int32_t allowed_length = 2;  // shorter repetitions are free
  int32_t last_n = -1;         // tokens looked at; -1: all of prompt and output; 0: off
  // Byte strings; no repetition reaches across one.
  std::vector<std::string> sequence_breakers = {"\n", ":", "\"", "*"};
};

// Defaults are OpenAI's, and change nothing. Validated by ValidateSampling.
struct SamplingParams {
  double temperature = 1.0;   // below 1e-5: the likeliest token
  double dynatemp_range = 0;  // > 0: temperature +- range, by how uncertain the model is
  double dynatemp_exponent = 1;
  int32_t top_k = 0;  // 0: all
  double top_p = 1.0;
  double min_p = 0.0;
  double typical_p = 1.0;
  double top_n_sigma = 0;      // <= 0: all
  double xtc_probability = 0;  // how often XTC acts
  double xtc_threshold = 0.1;  // above 0.5: never
  int32_t mirostat = 0;        // 0 or 2; 2 replaces all filters
  double mirostat_tau = 5;     // the surprise aimed at, in bits
  double mirostat_eta = 0.1;

  double repetition_penalty = 1;  // of what is in prompt or output: Keskar et al., CTRL (2019)
  double frequency_penalty = 0;   // of what is in the output, times how often
  double presence_penalty = 0;    // of what is in the output
  int32_t repeat_last_n = -1;     // tokens that those three look back on; -1: all; 0: none
  DryParams dry;
  std::vector<SamplerStage> samplers = DefaultSamplers();  // each at most once

  std::vector<std::pair<TokenId, float>> logit_bias;  // added to the logits; a token once
  std::vector<TokenId> allowed_token_ids;             // ascending; empty: all
  // Token sequences: where the output ends with all of one but its last token, that token is not
  // sampled. None is empty.
  std::vector<std::vector<TokenId>> bad_words;

  // Beam search (beam_search.h) instead of sampling: what concerns sampling is at its default, and
  // neither stop strings nor logprobs are asked for.
  int32_t beam_width = 0;  // 0: none; otherwise at least the number of choices
  double length_penalty = 1;
  bool early_stopping = false;  // over as soon as beam_width texts are complete

  uint64_t seed = 0;        // with the choice and the output position it keys every draw
  int32_t max_tokens = 16;  // >= 0; 0 only with prompt logprobs (echo)
  // Before this many tokens nothing but max_tokens ends the text: end and stop tokens are not
  // sampled, stop strings are not matched.
  int32_t min_tokens = 0;
  bool ignore_eos = false;  // the model's end tokens are ordinary tokens
  // Byte strings; the text ends before the first one that appears: the one whose last byte comes
  // first, of several ending there the longest.
  std::vector<std::string> stop;
  std::vector<TokenId> stop_token_ids;
  bool include_stop = false;         // keep the matched stop string in the text
  int32_t logprobs = -1;             // -1: none; k >= 0: the sampled token's and the k likeliest
  bool prompt_logprobs = false;      // the same for every prompt token but the first
  int32_t prompt_logprob_count = 0;  // the likeliest for those, if more than `logprobs`
};

// What a request may ask for, so that its cost is bounded.
namespace sampling_limits {
inline constexpr int32_t kLogprobs = 100;
inline constexpr int32_t kBeams = 128;
inline constexpr size_t kStopStrings = 32;
inline constexpr size_t kStopStringBytes = 1024;
inline constexpr size_t kStopTokens = 128;
inline constexpr size_t kBiasedTokens = 1024;
inline constexpr size_t kBadWords = 512;
inline constexpr size_t kBadWordTokens = 256;
inline constexpr size_t kDryBreakers = 32;
inline constexpr size_t kDryBreakerBytes = 64;
}  // namespace sampling_limits

// kInvalidArgument, naming the parameter, the value found and the values allowed.
Result<void> ValidateSampling(const SamplingParams& params, int64_t vocab_size);

}  // namespace weft
