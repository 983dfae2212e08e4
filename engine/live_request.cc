#include "engine/live_request.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "engine/engine.h"

namespace weft {
namespace {

WantedLogits WantedLogitsOf(const Request& request) {
  if (!request.pooling) {
    return request.sampling.max_tokens > 0 ? WantedLogits::kLast : WantedLogits::kNone;
  }
  switch (request.pooling->output) {
    case PooledOutput::kTokenLogits:
      return WantedLogits::kLast;
    case PooledOutput::kSparse:
      return WantedLogits::kAll;
    default:
      return WantedLogits::kNone;
  }
}

}  // namespace

LiveRequest::LiveRequest(Request request, uint64_t arrival, BlockPools& pools, int64_t vocab_size,
                         const std::vector<TokenId>& end_tokens)
    : request_(std::move(request)),
      ends_(request_.sampling.stop_token_ids),
      times_{.received = request_.received,
             .submitted = request_.submitted,
             .started = {},
             .first_token = {},
             .finished = {}},
      ended_(static_cast<size_t>(request_.choice_count)),
      unfinished_count_(request_.choice_count) {
  if (times_.received == RequestTimes::Time()) times_.received = times_.submitted;
  const SamplingParams& sampling = request_.sampling;
  if (!sampling.ignore_eos) ends_.insert(ends_.end(), end_tokens.begin(), end_tokens.end());
  const auto stop_strings = std::make_shared<const StopStrings>(sampling.stop);
  const int32_t sequence_count = std::max(request_.choice_count, sampling.beam_width);
  // What is wanted of earlier positions of the prompt than its last can only be had by computing
  // them. The other choices come to it when the first has done so.
  const PoolingParams* const pooled = pooling();
  const bool pools_states = pooled != nullptr && (pooled->output == PooledOutput::kEmbedding ||
                                                  pooled->output == PooledOutput::kLabels);
  const bool pools_more = (pools_states && pooled->pooling != Pooling::kLast) ||
                          (pooled != nullptr && pooled->output == PooledOutput::kSparse);
  const bool computes_prompt =
      !request_.reads_prefix_cache || sampling.prompt_logprobs || pools_more;
  // What is a source's is found by its salt alone: one of the request's own, where others' blocks
  // are not to be used.
  CacheSalt salt = request_.cache_salt;
  if (!request_.reads_prefix_cache && !request_.source.empty()) {
    for (size_t i = 0; i < sizeof(RequestId); ++i) {
      salt[i] ^= static_cast<uint8_t>(request_.id >> (8 * i));
    }
  }
  for (int32_t choice = 0; choice < sequence_count; ++choice) {
    choices_.push_back(std::make_unique<Sequence>(
        *this, SequenceAge{.priority = request_.priority, .arrival = arrival, .choice = choice},
        pools, StopMatcher(stop_strings, sampling.include_stop)));
    choices_.back()->job_id = request_.job_id != 0 ? request_.job_id : request_.id;
    choices_.back()->state = SequenceState::kAwaitingPrompt;
    choices_.back()->mirostat_mu = 2 * sampling.mirostat_tau;
    if (!request_.reads_prefix_cache) {
      choices_.back()->cache_limit = static_cast<int32_t>(request_.prompt.size());
    }
    choices_.back()->cache_salt = salt;
    choices_.back()->source = request_.source;
  }
  if (sampling.beam_width > 0) {
    beam_search_.emplace(sampling, request_.choice_count, ends_);
    for (const auto& choice : choices_) {
      beams_.push_back(choice.get());
      choice->beams = &beams_;
    }
  }
  Sequence& first = first_choice();
  first.state = SequenceState::kWaiting;
  first.awaiting_count = sequence_count - 1;
  first.tokens = request_.prompt;
  first.prompt_count = first.token_count();
  first.second_text = request_.second_text;
  if (computes_prompt) first.cache_limit = 0;
  first.next_prompt_logprob = sampling.prompt_logprobs ? 0 : first.prompt_count;
  first.wanted_logits = WantedLogitsOf(request_);
  if (request_.constraint && !request_.pooling) {
    first.text = std::make_shared<ConstrainedText>(
        std::make_shared<const TextRules>(TextRules{.constraint = request_.constraint,
                                                    .ends = ends_,
                                                    .vocab_size = vocab_size,
                                                    .always_masks = beam_search_.has_value(),
                                                    .finishes = request_.finish_by_length}));
  }
  if (pools_states) {
    pooler_.emplace(pooled->pooling);
    first.next_pooled = pools_more ? 0 : first.prompt_count - 1;
    first.pooled_end = pooled->pooling == Pooling::kFirst ? 1 : first.prompt_count;
  }
  // OpenAI's echo counts the first prompt token as certain.
  if (sampling.prompt_logprobs)
    prompt_logprobs_.push_back({.token = request_.prompt.front(), .logprob = 0, .top = {}});
}

std::vector<TokenId> LiveRequest::BannedTokens(int32_t output_position,
                                               std::vector<TokenId> banned) const {
  if (output_position < request_.sampling.min_tokens)
    banned.insert(banned.end(), ends_.begin(), ends_.end());
  return banned;
}

bool LiveRequest::IsEnd(TokenId token) const {
  return std::ranges::find(ends_, token) != ends_.end();
}

void LiveRequest::AddPromptLogprob(TokenLogprob logprob) {
  prompt_logprobs_.push_back(std::move(logprob));
}

void LiveRequest::EmitPromptLogprobs() {
  if (!request_.sampling.prompt_logprobs || prompt_logprobs_emitted_) return;
  WEFT_CHECK(prompt_logprobs_.size() == request_.prompt.size());
  prompt_logprobs_emitted_ = true;
  request_.sink->OnPromptLogprobs(std::exchange(prompt_logprobs_, {}));
}

void LiveRequest::EmitProgress(int32_t processed_tokens, RequestTimes::Time now) {
  if (!request_.reports_progress || processed_tokens <= progress_) return;
  progress_ = processed_tokens;
  request_.sink->OnPromptProgress({.prompt_tokens = first_choice().prompt_count,
                                   .cached_tokens = first_choice().cached_count,
                                   .processed_tokens = processed_tokens,
                                   .started = times_.started,
                                   .now = now});
}

Result<PooledResult> LiveRequest::FromHiddenStates(ModelRunner& runner) {
  WEFT_ASSIGN_OR_RETURN(std::vector<float> pooled, pooler_->Take());
  PooledResult result;
  result.values = runner.FromPooled(request_.pooling->output, std::move(pooled));
  for (const float number : result.values) {
    if (!std::isfinite(number)) {
      return Fail(ErrorCode::kInternal, "what the model makes of its hidden states is not finite");
    }
  }
  return result;
}

std::string_view LiveRequest::TextOf(TokenId token, const TokenBytes& token_bytes) const {
  const std::string_view bytes = token_bytes ? token_bytes(token) : std::string_view();
  if (!bytes.empty() || request_.visible_tokens == nullptr) return bytes;
  const auto found = request_.visible_tokens->find(token);
  return found == request_.visible_tokens->end() ? std::string_view() : found->second;
}

std::optional<Ending> LiveRequest::AppendToken(Sequence& sequence, TokenId token,
                                               std::string_view bytes,
                                               std::optional<TokenLogprob> logprob) {
  WEFT_CHECK(sequence.state == SequenceState::kRunning ||
             sequence.state == SequenceState::kWaiting);  // no slot: its first token
  sequence.tokens.push_back(token);
  TokensEvent event{.choice = sequence.choice(), .text = {}, .tokens = {token}, .logprobs = {}};
  event.cached_tokens = first_choice().cached_count;
  event.times = times_;
  if (logprob) event.logprobs.push_back(*std::move(logprob));
  const bool may_stop = sequence.output_count() >= request_.sampling.min_tokens;
  const std::optional<size_t> stop = sequence.stop_matcher.Push(bytes, may_stop, event.text);
  const bool last = sequence.output_count() == request_.sampling.max_tokens;
  if (last && !stop) sequence.stop_matcher.Flush(event.text);
  request_.sink->OnTokens(std::move(event));
  if (stop) {
    return Ending{.reason = FinishReason::kStop,
                  .stop_string = request_.sampling.stop[*stop],
                  .stop_token = {},
                  .error = {}};
  }
  if (last)
    return Ending{
        .reason = FinishReason::kLength, .stop_string = {}, .stop_token = {}, .error = {}};
  return std::nullopt;
}

void LiveRequest::EmitFinish(FinishEvent event, RequestTimes::Time now,
                             std::vector<FinishedChoice>& report) {
  const auto choice = static_cast<size_t>(event.choice);
  WEFT_CHECK(!ended_[choice]);
  event.prompt_tokens = first_choice().input_count();
  event.cached_tokens = first_choice().cached_count;
  event.times = times_;
  event.times.finished = now;
  event.last = unfinished_count_ == 1;
  report.push_back({.reason = event.reason,
                    .generates = !request_.pooling,
                    .prompt_tokens = event.prompt_tokens,
                    .completion_tokens = event.completion_tokens,
                    .max_tokens = request_.sampling.max_tokens,
                    .choice_count = request_.choice_count,
                    .last = event.last,
                    .times = event.times});
  ended_[choice] = true;  // what can throw is behind us: nobody is told twice, or never
  --unfinished_count_;
  request_.sink->OnFinish(std::move(event));
}

void LiveRequest::Finish(Sequence& sequence, Ending ending, RequestTimes::Time now,
                         std::vector<FinishedChoice>& report) {
  WEFT_CHECK(sequence.state == SequenceState::kFinished);
  if (sequence.choice() >= request_.choice_count) return;  // a beam of nobody's choice
  if (ended_[static_cast<size_t>(sequence.choice())]) return;
  TokensEvent rest{.choice = sequence.choice(), .text = {}, .tokens = {}, .logprobs = {}};
  sequence.stop_matcher.Flush(rest.text);
  if (!rest.text.empty()) request_.sink->OnTokens(std::move(rest));
  FinishEvent event;
  event.choice = sequence.choice();
  event.reason = ending.reason;
  event.stop_string = std::move(ending.stop_string);
  event.stop_token = ending.stop_token;
  event.error = std::move(ending.error);
  // Of beams that did not come to their end nothing has been emitted.
  event.completion_tokens = beam_search_ ? 0 : sequence.output_count() + (event.stop_token ? 1 : 0);
  event.logprob_sum = sequence.logprob_sum;
  EmitFinish(std::move(event), now, report);
}

void LiveRequest::FinishBeams(const std::function<std::string_view(TokenId)>& token_bytes,
                              RequestTimes::Time now, std::vector<FinishedChoice>& report) {
  for (const auto& choice : choices_) WEFT_CHECK(choice->state == SequenceState::kFinished);
  for (int32_t choice = 0; choice < request_.choice_count; ++choice) {
    // There may be fewer texts than choices under a constraint: then the last one comes again.
    const std::vector<BeamText>& texts = beam_search_->texts();
    const BeamText& text = texts[std::min(static_cast<size_t>(choice), texts.size() - 1)];
    TokensEvent tokens{.choice = choice, .text = {}, .tokens = text.tokens, .logprobs = {}};
    if (token_bytes) {
      for (const TokenId token : text.tokens) tokens.text += token_bytes(token);
    }
    const auto token_count = static_cast<int32_t>(text.tokens.size());
    if (token_count > 0) request_.sink->OnTokens(std::move(tokens));
    FinishEvent event;
    event.choice = choice;
    event.reason = text.is_cut ? FinishReason::kLength : FinishReason::kStop;
    event.stop_token = text.end_token;
    event.completion_tokens = token_count + (text.end_token ? 1 : 0);
    event.logprob_sum = text.logprob_sum;
    EmitFinish(std::move(event), now, report);
  }
}

}  // namespace weft
