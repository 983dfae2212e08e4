#include "engine/row_visitor.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/check.h"
#include "engine/internal_error.h"
#include "engine/live_request.h"
#include "engine/row_math.h"
#include "engine/sparse_pooler.h"

namespace weft {
namespace {

Result<void> PoolLogits(const LogitTarget& target, std::span<const float> logits,
                        RowOutcome& outcome) {
  const PoolingParams& pooling = *target.sequence->request->pooling();
  if (pooling.output == PooledOutput::kSparse) {
    target.sequence->sparse_pooler->Add(logits);
    return {};
  }
  WEFT_CHECK(pooling.output == PooledOutput::kTokenLogits);
  if (!AllFinite(logits)) return Fail(ErrorCode::kInternal, "the model's logits are not finite");
  PooledResult& result = outcome.token_logits.emplace();
  for (const TokenId token : pooling.tokens) {
    result.values.push_back(logits[static_cast<size_t>(token)]);
  }
  result.log_sum = LogSumOfExp(logits);
  return {};
}

Result<void> RankBeam(Sequence& sequence, std::span<const float> logits, Sampler& sampler,
                      RowOutcome& outcome) {
  const int32_t count = sequence.request->beam_search()->candidate_count();
  BeamRow& beam = outcome.beam.emplace(BeamRow{.sequence = &sequence, .is_over = {}, .tokens = {}});
  if (sequence.text == nullptr) {
    TokenLogprob ranked;
    WEFT_ASSIGN_OR_RETURN(ranked, sampler.Logprob(logits, 0, count));
    beam.tokens = std::move(ranked.top);
  } else if (sequence.text->is_complete()) {
    beam.is_over = true;
  } else {
    WEFT_ASSIGN_OR_RETURN(beam.tokens, sampler.Rank(logits, sequence.text->rule().mask, count));
  }
  return {};
}

// Of a text that nothing but its end may follow: the likeliest token that ends it, whatever the
// sampling parameters say; where the request has no such token, the text is over as it stands.
void SampleEnd(const std::vector<TokenId>& ends, std::span<const float> logits,
               SampledToken& sampled) {
  const auto likeliest = std::ranges::max_element(
      ends, {}, [&](TokenId end) { return std::pair(logits[static_cast<size_t>(end)], -end); });
  sampled.is_over = likeliest == ends.end();
  if (!sampled.is_over) sampled.sampled.token = *likeliest;
}

}  // namespace

void RowVisitor::Visit(const LogitTarget& target, std::span<const float> logits, Sampler& sampler,
                       RowOutcome& outcome) const try {
  WEFT_CHECK(!std::exchange(outcome.visited, true));
  Sequence& sequence = *target.sequence;
  const bool last = target.position + 1 == sequence.token_count();
  const bool pools = sequence.request->pooling() != nullptr;
  if (last && !pools && sequence.text != nullptr) {
    // The beams of a search go on together, when what may come is known of all.
    if (sequence.beams != nullptr || !sequence.text->is_ready()) {
      outcome.kept_logits.assign(logits.begin(), logits.end());
      return;
    }
  }
  const Result<void> done = pools  ? PoolLogits(target, logits, outcome)
                            : last ? SampleChoices(sequence, logits, sampler, outcome)
                                   : MeasurePromptToken(target, logits, sampler, outcome);
  if (!done) outcome.error = done.error();
} catch (const std::exception& exception) {
  outcome.error = InternalError(exception.what());
}

void RowVisitor::VisitKept(Sequence& sequence, Sampler& sampler, RowOutcome& outcome) const try {
  const Result<void> done = SampleChoices(sequence, sequence.kept_logits, sampler, outcome);
  if (!done) outcome.error = done.error();
} catch (const std::exception& exception) {
  outcome.error = InternalError(exception.what());
}

Result<void> RowVisitor::MeasurePromptToken(const LogitTarget& target,
                                            std::span<const float> logits, Sampler& sampler,
                                            RowOutcome& outcome) const {
  const Sequence& sequence = *target.sequence;
  const TokenId token = sequence.tokens[static_cast<size_t>(target.position) + 1];
  const SamplingParams& params = sequence.request->sampling();
  const int32_t top_count = std::max(params.logprobs, params.prompt_logprob_count);
  WEFT_ASSIGN_OR_RETURN(outcome.prompt_logprob, sampler.Logprob(logits, token, top_count));
  return {};
}

Result<void> RowVisitor::SampleChoices(Sequence& sequence, std::span<const float> logits,
                                       Sampler& sampler, RowOutcome& outcome) const {
  if (sequence.text != nullptr && sequence.text->error())
    return tl::unexpected(*sequence.text->error());
  if (sequence.beams != nullptr) return RankBeam(sequence, logits, sampler, outcome);
  WEFT_RETURN_IF_ERROR(SampleToken(sequence, sequence, logits, sampler, outcome));
  for (const auto& choice : sequence.request->choices()) {
    if (choice->state == SequenceState::kAwaitingPrompt)
      WEFT_RETURN_IF_ERROR(SampleToken(*choice, sequence, logits, sampler, outcome));
  }
  return {};
}

Result<void> RowVisitor::SampleToken(Sequence& choice, const Sequence& computed,
                                     std::span<const float> logits, Sampler& sampler,
                                     RowOutcome& outcome) const {
  const LiveRequest& request = *choice.request;
  const SamplingParams& params = request.sampling();
  const int32_t output_position = computed.output_count();
  SampledToken sampled{.sequence = &choice, .is_over = {}, .sampled = {}, .logprob = {}};
  if (computed.text != nullptr && computed.text->is_complete()) {
    SampleEnd(computed.text->ends(), logits, sampled);
  } else {
    const SamplingHistory history{.tokens = computed.tokens,
                                  .prompt_count = computed.prompt_count,
                                  .mirostat_mu = choice.mirostat_mu};
    const RandomKey key{.seed = params.seed,
                        .choice = static_cast<uint32_t>(choice.choice()),
                        .position = static_cast<uint32_t>(output_position)};
    WEFT_ASSIGN_OR_RETURN(
        sampled.sampled,
        sampler.Sample(logits, params, history, key,
                       request.BannedTokens(output_position, options_.banned_tokens),
                       computed.text != nullptr ? computed.text->rule() : TokenRule()));
    if (computed.text != nullptr) {
      const std::optional<TokenId> settled =
          computed.text->Settle(sampled.sampled.token, params.max_tokens - output_position);
      if (settled) {
        sampled.sampled.token = *settled;
      } else {
        SampleEnd(computed.text->ends(), logits, sampled);
      }
    }
  }
  if (params.logprobs >= 0 && !sampled.is_over) {
    WEFT_ASSIGN_OR_RETURN(sampled.logprob,
                          sampler.Logprob(logits, sampled.sampled.token, params.logprobs));
  }
  outcome.sampled.push_back(std::move(sampled));
  return {};
}

}  // namespace weft
