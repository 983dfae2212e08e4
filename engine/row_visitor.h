// What becomes of the rows of logits that a step computes: tokens, candidates of beams, log
// probabilities of the prompt, what is pooled of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/batch_builder.h"
#include "engine/engine.h"
#include "engine/request.h"
#include "engine/sampler.h"

namespace weft {

struct SampledToken {
  Sequence* sequence = nullptr;
  bool is_over = false;  // the text has ended before this token, of which nothing is to be had
  Sampled sampled;
  std::optional<TokenLogprob> logprob;
};

// What a beam may go on with.
struct BeamRow {
  Sequence* sequence = nullptr;
  bool is_over = false;  // nothing: the text is complete
  std::vector<std::pair<TokenId, float>> tokens;
};

// What became of one row of logits.
struct RowOutcome {
  bool visited = false;
  std::vector<SampledToken> sampled;  // a token a choice that continues from this row
  std::optional<TokenLogprob> prompt_logprob;
  std::optional<BeamRow> beam;
  std::optional<PooledResult> token_logits;
  std::vector<float> kept_logits;  // the row itself, where a mask is not ready for it
  std::optional<Error> error;      // fails the request
};

// Methods run on the threads that compute, each with a sampler of its own, and change nothing but
// `outcome`, and what the sequence's sparse pooler holds.
class RowVisitor {
 public:
  // The options outlive it.
  explicit RowVisitor(const EngineOptions& options) : options_(options) {}

  // A row of a step.
  void Visit(const LogitTarget& target, std::span<const float> logits, Sampler& sampler,
             RowOutcome& outcome) const;
  // The row that a parked sequence has kept; its text is ready.
  void VisitKept(Sequence& sequence, Sampler& sampler, RowOutcome& outcome) const;

 private:
  Result<void> MeasurePromptToken(const LogitTarget& target, std::span<const float> logits,
                                  Sampler& sampler, RowOutcome& outcome) const;
  Result<void> SampleChoices(Sequence& sequence, std::span<const float> logits, Sampler& sampler,
                             RowOutcome& outcome) const;
  // `choice` goes on from what `computed`, itself or the choice whose prompt it awaits, has.
  Result<void> SampleToken(Sequence& choice, const Sequence& computed,
                           std::span<const float> logits, Sampler& sampler,
                           RowOutcome& outcome) const;

  const EngineOptions& options_;
};

}  // namespace weft
