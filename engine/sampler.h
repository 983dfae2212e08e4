// One row of logits -> the next token and its log probabilities.
//
// The chain:
//   1. Tokens that may not come are excluded: banned ones (min_tokens), all but
//      allowed_token_ids, the last token of a bad word whose others end the output, and those that
//      the request's constraint does not allow.
//   2. logit_bias is added.
//   3. The stages of SamplingParams::samplers, in their order. A stage whose parameter changes
//      nothing is skipped; one that is not in the list does not act. A temperature below 1e-5
//      keeps the likeliest token at its place in the chain. With mirostat 2 the stages that filter
//      (all but penalties, DRY and temperature) do not act, and mirostat's cut comes last.
//   4. One of the tokens that are left is drawn with probability proportional to its weight.
// The rules of the filters are Candidates', those of the penalties Penalties'. A pure function of
// its arguments; libm has no part in it.
//
// A constraint that allows nearly all tokens gives no mask: it is asked about the drawn token
// alone, and where that is not allowed the chain runs once more, what it does not allow excluded,
// with a draw of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/candidates.h"
#include "engine/penalties.h"
#include "engine/request.h"
#include "engine/rng.h"

namespace weft {

// What earlier steps have to do with the next token.
struct SamplingHistory {
  std::span<const TokenId> tokens;  // prompt, then output so far
  int32_t prompt_count = 0;
  double mirostat_mu = 0;  // the largest surprise allowed, in bits; 2 mirostat_tau at first
};

struct Sampled {
  TokenId token = 0;
  double mirostat_mu = 0;  // for the token after this one
};

// What a request's constraint says of the next token; one of both, or neither.
struct TokenRule {
  std::span<const uint32_t> mask;       // a TokenMask of those that may come
  std::function<bool(TokenId)> allows;  // nearly all may come: the one that is drawn is asked about
};

// The natural logarithm of the sum of exp(logit), all of which are finite: a logit less this is the
// logarithm of the token's probability.
double LogSumOfExp(std::span<const float> logits);

// Holds scratch memory for one row at a time; used by one thread at a time.
class Sampler {
 public:
  // `token_bytes`: for DRY's sequence breakers; may be empty.
  Sampler(int64_t vocab_size, TokenBytes token_bytes);
  // What a Sampler allocates.
  static int64_t ScratchBytes(int64_t vocab_size);

  // Error if a logit is not finite, or every token is excluded. The key's purpose is set here.
  Result<Sampled> Sample(std::span<const float> logits, const SamplingParams& params,
                         const SamplingHistory& history, const RandomKey& key,
                         std::span<const TokenId> banned, const TokenRule& rule = {});

  // Of the softmax of the raw logits: the token's and the `top_count` likeliest (at most the
  // vocabulary). Error if a logit is not finite.
  Result<TokenLogprob> Logprob(std::span<const float> logits, TokenId token, int32_t top_count);

  // Of the tokens in the mask the `count` likeliest, fewer if there are no more, in falling order,
  // with their logarithms in the softmax of all raw logits. Error if a logit is not finite.
  Result<std::vector<std::pair<TokenId, float>>> Rank(std::span<const float> logits,
                                                      std::span<const uint32_t> mask,
                                                      int32_t count);

 private:
  // The mask may be empty: then any token may come.
  Result<Sampled> RunChain(std::span<const float> logits, const SamplingParams& params,
                           const SamplingHistory& history, const RandomKey& key,
                           std::span<const TokenId> banned, std::span<const uint32_t> mask);
  // `adjusted_` becomes the row, or what has become of it, without the tokens outside the mask.
  void ExcludeOutside(std::span<const uint32_t> mask, std::span<const float> logits);
  // The likeliest of a row, in falling order.
  std::span<const TokenId> FindTop(std::span<const float> row, int32_t count);
  // The logits that `candidates_` work on, as a copy that may be changed.
  std::span<float> Adjustable(std::span<const float> logits);
  void Exclude(std::span<const float> logits, const SamplingParams& params,
               const SamplingHistory& history, std::span<const TokenId> banned,
               std::span<const uint32_t> mask);
  void ApplyStage(SamplerStage stage, std::span<const float> logits, const SamplingParams& params,
                  const SamplingHistory& history, const RandomKey& key);
  void ApplyPenalties(SamplerStage stage, std::span<const float> logits,
                      const SamplingParams& params, const SamplingHistory& history);
  void ApplyTemperature(const SamplingParams& params);
  void ApplyFilter(SamplerStage stage, const SamplingParams& params, const RandomKey& key);

  Candidates candidates_;
  Penalties penalties_;
  std::vector<float> adjusted_;  // the row with what was added to it, where something was
  bool is_adjusted_ = false;
  bool begun_ = false;  // candidates_ are this row's
  std::vector<TokenId> top_tokens_;
  std::vector<uint32_t> asked_mask_;  // of what TokenRule::allows was asked about
};

}  // namespace weft
