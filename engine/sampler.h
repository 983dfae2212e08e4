// One row of logits -> the next token and its log probabilities.
//
// Order of the filters (that of Hugging Face's generate): temperature, top_k, top_p, min_p.
//   1. weight(i) = exp((logit(i) - largest logit) / temperature).
//   2. Tokens are ranked by falling logit, equal ones by rising id.
//   3. top_k keeps the first k.
//   4. top_p keeps the shortest beginning of those whose weights make up top_p of their sum, at
//      least one.
//   5. min_p keeps of those the tokens whose weight is at least min_p times the largest one.
//   6. One of the rest is drawn with probability proportional to its weight.
// A pure function of its arguments; libm has no part in it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "engine/rng.h"

namespace weft {

// Limits that keep a request's cost bounded; ValidateSampling enforces them.
inline constexpr int32_t kMaxLogprobs = 100;
inline constexpr size_t kMaxStopStrings = 32;
inline constexpr size_t kMaxStopStringBytes = 1024;
inline constexpr size_t kMaxStopTokens = 128;
inline constexpr double kMaxTemperature = 100;
inline constexpr double kGreedyTemperature = 1e-5;  // below it sampling is greedy

// kInvalidArgument, naming the parameter, the value found and the values allowed.
Result<void> ValidateSampling(const SamplingParams& params, int64_t vocab_size);

// Holds scratch memory for one row at a time; used by one thread at a time.
class Sampler {
 public:
  explicit Sampler(int64_t vocab_size);
  // What a Sampler allocates.
  static int64_t ScratchBytes(int64_t vocab_size);

  // Error if a logit is not finite, or every token is banned.
  Result<TokenId> Sample(std::span<const float> logits, const SamplingParams& params,
                         const RandomKey& key, std::span<const TokenId> banned);

  // Of the softmax of the raw logits: the token's and the `top_count` likeliest (at most the
  // vocabulary). Error if a logit is not finite.
  Result<TokenLogprob> Logprob(std::span<const float> logits, TokenId token, int32_t top_count);

 private:
  double WeightOf(TokenId token) const {
    return static_cast<double>(weights_[static_cast<size_t>(token)]);
  }
  // Fills weights_ (0 for those below min_weight) and block_sums_; returns their sum.
  double Weigh(std::span<const float> logits, float max_logit, float inverse_temperature,
               double min_weight);
  TokenId DrawFromAll(double total, double uniform) const;
  // Ranks into candidates_ the first top_k tokens.
  void RankTopK(std::span<const float> logits, size_t top_k);
  // Ranks into candidates_ the likeliest tokens, enough of them to weigh `limit` together.
  void RankTopP(std::span<const float> logits, float max_logit, float inverse_temperature,
                double limit);
  double CandidateWeight() const;
  // Applies top_p, of `total`, and min_p.
  void CutCandidates(const SamplingParams& params, double total);
  TokenId DrawFromCandidates(double uniform) const;

  std::vector<float> allowed_logits_;  // the row without banned tokens, where there are any
  std::vector<float> weights_;         // a token
  std::vector<double> block_sums_;     // of kWeightBlock consecutive weights
  std::vector<TokenId> candidates_;    // as many as there are; room for the vocabulary
};

}  // namespace weft
