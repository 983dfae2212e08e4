#include "engine/engine_core.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "engine/internal_error.h"
#include "engine/request_validation.h"

namespace weft {
namespace {

Ending Aborted() {
  return {.reason = FinishReason::kAborted, .stop_string = {}, .stop_token = {}, .error = {}};
}

Ending Failed(Error error) {
  return {.reason = FinishReason::kFailed,
          .stop_string = {},
          .stop_token = {},
          .error = std::move(error)};
}

// Of a search that comes to an end without any text.
Error NoText() {
  return {ErrorCode::kInvalidArgument,
          "beam search has found no text of the form that it must have: allow more beams or more "
          "tokens"};
}

// Every choice's terminal event, of a request that the engine cannot take.
void Refuse(TokenSink& sink, int32_t choice_count, std::string_view reason) {
  for (int32_t choice = 0; choice < choice_count; ++choice) {
    FinishEvent event;
    event.choice = choice;
    event.reason = FinishReason::kFailed;
    event.error = InternalError(reason);
    event.last = choice + 1 == choice_count;
    sink.OnFinish(std::move(event));
  }
}

// A parked sequence whose text is ready; of a search's beams, when those of all are.
bool MayGoOn(const Sequence* sequence) {
  const auto is_ready = [](const Sequence* each) {
    return each->is_parked() && each->text->is_ready();
  };
  if (sequence->beams == nullptr) return is_ready(sequence);
  return std::ranges::all_of(*sequence->beams, [&](const Sequence* beam) {
    return beam->state == SequenceState::kAwaitingPrompt || is_ready(beam);
  });
}

}  // namespace

EngineCore::EngineCore(const EngineOptions& options, ModelRunner& runner, Clock clock,
                       std::function<void()> wake)
    : options_(options),
      runner_(runner),
      clock_(std::move(clock)),
      wake_(std::move(wake)),
      visitor_(options),
      pools_(runner.groups(), static_cast<int32_t>(runner.block_size()),
             options.prefix_cache && !options.is_encoder),
      scheduler_({.max_batch_tokens = options.max_batch_tokens,
                  .max_sequences = options.max_sequences,
                  .whole_prompts = options.is_encoder,
                  .max_stall = options.max_stall},
                 pools_),
      batch_builder_(options.rows_of_a_step(), pools_),
      samplers_(static_cast<size_t>(runner.thread_count()),
                Sampler(runner.vocab_size(), options.token_bytes)),
      sparse_poolers_(runner.makes(PooledOutput::kSparse) ? options.max_sequences : 0,
                      SparsePooler(runner.vocab_size())) {
  WEFT_CHECK(options.max_context > 0 && options.max_waiting > 0);
}

Result<void> EngineCore::Validate(const Request& request) const {
  return ValidateRequest(request, options_, runner_);
}

void EngineCore::Add(Request request) {
  if (request.submitted == RequestTimes::Time()) request.submitted = clock_();
  const RequestId id = request.id;
  const int32_t choice_count = request.choice_count;
  const std::shared_ptr<TokenSink> sink = request.sink;
  if (live_.contains(id)) {
    Refuse(*sink, choice_count, "the request's id is in use");
  } else {
    try {
      auto live = std::make_unique<LiveRequest>(std::move(request), next_arrival_++, pools_,
                                                runner_.vocab_size(), options_.end_tokens);
      Sequence& first_choice = live->first_choice();
      const bool has_deadline = live->deadline().has_value();
      finished_.reserve(std::bit_ceil(live_.size() + 1));
      live_.emplace(id, std::move(live));
      scheduler_.Add(first_choice);
      if (has_deadline) ++deadline_count_;
      ++queued_count_;
      was_empty_ = false;
      return;
    } catch (const std::exception& exception) {
      live_.erase(id);
      Refuse(*sink, choice_count, exception.what());
    }
  }
  ++report_.finished_requests;
  ++dequeued_count_;
}

void EngineCore::Abort(RequestId id) {
  const auto found = live_.find(id);
  if (found == live_.end()) return;
  FinishAllChoices(*found->second, Aborted());
  EraseFinished();
}

void EngineCore::AbortExpired(std::chrono::steady_clock::time_point now) {
  if (deadline_count_ == 0) return;
  for (const auto& [id, request] : live_) {
    if (request->deadline() && *request->deadline() <= now) FinishAllChoices(*request, Aborted());
  }
  EraseFinished();
}

void EngineCore::AbortAll() {
  for (const auto& [id, request] : live_) FinishAllChoices(*request, Aborted());
  EraseFinished();
}

void EngineCore::FailAll(const std::string& error) {
  for (const auto& [id, request] : live_)
    FinishAllChoices(*request, Failed({ErrorCode::kInternal, error}));
  EraseFinished();
}

bool EngineCore::is_stalled() const {
  return was_empty_ && std::ranges::none_of(scheduler_.running(), MayGoOn);
}

void EngineCore::Step() {
  CommitParked();
  const auto started = clock_();
  const StepPlan plan = scheduler_.Plan();
  CountPlan(plan, started);
  was_empty_ = plan.sequences.empty();
  if (was_empty_) {
    WEFT_CHECK(live_.empty() || std::ranges::any_of(scheduler_.running(), &Sequence::is_parked));
    return;
  }
  FillMasks(plan);
  const Result<void> outcome = RunPlan(plan);
  computed_at_ = clock_();
  if (outcome) {
    Commit(plan);
  } else {
    for (const PlannedSequence& planned : plan.sequences)
      FinishAllChoices(*planned.sequence->request, Failed(outcome.error()));
  }
  EraseFinished();
  const std::chrono::nanoseconds duration = clock_() - started;
  if (outcome) scheduler_.Learn(plan, duration);
  report_.duration += duration;
  report_.predicted += std::chrono::nanoseconds(static_cast<int64_t>(plan.predicted_seconds * 1e9));
}

Result<void> EngineCore::RunPlan(const StepPlan& plan) try {
  for (const BlockCopy& copy : plan.copies) {
    runner_.CopyBlock(copy.group, copy.from, copy.to);
  }
  ForwardBatch batch = batch_builder_.Build(plan);
  // In the order of their positions, whatever the chunks: the sum is the same.
  const HiddenVisitor pool = [&](int64_t index, std::span<const float> hidden) {
    Sequence& sequence = *batch_builder_.hidden_targets()[static_cast<size_t>(index)];
    sequence.request->pooler()->Add(hidden);
    ++sequence.next_pooled;
  };
  batch.visit_hidden = &pool;
  AssignSparsePoolers(plan);
  const auto vocab_size = static_cast<size_t>(runner_.vocab_size());
  const std::vector<LogitTarget>& targets = batch_builder_.logit_targets();
  outcomes_.clear();
  outcomes_.resize(targets.size());
  WEFT_RETURN_IF_ERROR(
      runner_.Run(batch, [&](int64_t index, int thread_index, const float* logits) {
        const auto i = static_cast<size_t>(index);
        visitor_.Visit(targets[i], {logits, vocab_size},
                       samplers_[static_cast<size_t>(thread_index)], outcomes_[i]);
      }));
  for (const RowOutcome& outcome : outcomes_) WEFT_CHECK(outcome.visited);
  return {};
} catch (const std::exception& exception) {
  return Fail(ErrorCode::kInternal, "the step failed: {}", exception.what());
}

void EngineCore::FillMasks(const StepPlan& plan) {
  for (const PlannedSequence& planned : plan.sequences) {
    const Sequence& sequence = *planned.sequence;
    const bool is_wanted =
        sequence.text != nullptr && sequence.wanted_logits == WantedLogits::kLast;
    if (!is_wanted || !sequence.text->needs_fill()) continue;
    sequence.text->BeginFill();
    auto fill = [text = sequence.text, wake = wake_] {
      if (text->Fill() && wake) wake();
    };
    if (options_.run_beside) {
      options_.run_beside(std::move(fill));
    } else {
      fill();
    }
  }
}

void EngineCore::Park(Sequence& sequence, std::vector<float> logits) {
  sequence.kept_logits = std::move(logits);
  if (sequence.text->Await()) ++report_.parked_sequences;
}

void EngineCore::CommitParked() {
  std::vector<Sequence*> ready;
  std::ranges::copy_if(scheduler_.running(), std::back_inserter(ready), MayGoOn);
  if (ready.empty()) return;
  computed_at_ = clock_();
  outcomes_.clear();
  outcomes_.resize(ready.size());
  for (size_t i = 0; i < ready.size(); ++i) {
    visitor_.VisitKept(*ready[i], samplers_.front(), outcomes_[i]);
    ready[i]->kept_logits = {};
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    if (outcomes_[i].error) FinishAllChoices(*ready[i]->request, Failed(*outcomes_[i].error));
    CommitPrompt(*ready[i]);
  }
  CommitTokens();
  EraseFinished();
}

void EngineCore::AssignSparsePoolers(const StepPlan& plan) {
  if (sparse_poolers_.empty()) return;
  size_t used = 0;
  for (const PlannedSequence& planned : plan.sequences) {
    Sequence& sequence = *planned.sequence;
    if (sequence.wanted_logits != WantedLogits::kAll) continue;
    WEFT_CHECK(planned.first_position == 0 && planned.row_count == sequence.token_count());
    sequence.sparse_pooler = &sparse_poolers_[used++];
    sequence.sparse_pooler->Clear();
  }
}

void EngineCore::Commit(const StepPlan& plan) {
  scheduler_.Commit(plan);
  const std::vector<LogitTarget>& targets = batch_builder_.logit_targets();
  for (size_t i = 0; i < targets.size(); ++i) {
    RowOutcome& outcome = outcomes_[i];
    if (outcome.error) {
      FinishAllChoices(*targets[i].sequence->request, Failed(*outcome.error));
    } else if (outcome.prompt_logprob) {
      CommitPromptLogprob(targets[i], *std::move(outcome.prompt_logprob));
    } else if (!outcome.kept_logits.empty()) {
      Park(*targets[i].sequence, std::move(outcome.kept_logits));
    }
  }
  for (const PlannedSequence& planned : plan.sequences) {
    const Sequence& sequence = *planned.sequence;
    sequence.request->EmitProgress(std::min(sequence.computed_count, sequence.prompt_count),
                                   computed_at_);
    CommitPrompt(*planned.sequence);
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    std::optional<PooledResult>& logits = outcomes_[i].token_logits;
    if (logits) FinishPooling(*targets[i].sequence->request, *std::move(logits));
  }
  CommitTokens();
}

void EngineCore::CommitTokens() {
  for (RowOutcome& outcome : outcomes_) {
    for (SampledToken& sampled : outcome.sampled) CommitToken(sampled);
  }
  CommitBeams();
}

void EngineCore::CommitBeams() {
  std::map<RequestId, std::vector<BeamRow*>> rows;
  for (RowOutcome& outcome : outcomes_) {
    if (outcome.beam) rows[outcome.beam->sequence->request->id()].push_back(&*outcome.beam);
  }
  for (const auto& [id, beams] : rows) {
    LiveRequest& request = *beams.front()->sequence->request;
    if (!request.finished()) AdvanceBeams(request, beams);  // otherwise it has failed
  }
}

void EngineCore::AdvanceBeams(LiveRequest& request, const std::vector<BeamRow*>& rows) {
  const std::vector<Sequence*>& beams = request.beams();
  const int32_t output_count = rows.front()->sequence->output_count();
  std::vector<BeamCandidates> candidates;
  for (const BeamRow* row : rows) {
    WEFT_CHECK(row->sequence->output_count() == output_count);
    candidates.push_back({.beam = row->sequence->choice(),
                          .is_over = row->is_over,
                          .logprob_sum = row->sequence->logprob_sum,
                          .tokens = row->tokens});
  }
  const auto output_of = [&](int32_t beam) {
    const Sequence& sequence = *beams[static_cast<size_t>(beam)];
    return std::vector<TokenId>(sequence.tokens.begin() + sequence.prompt_count,
                                sequence.tokens.end());
  };
  std::vector<BeamStep> steps = request.beam_search()->Advance(candidates, output_count, output_of);
  if (steps.empty()) {
    if (request.beam_search()->texts().empty()) return FinishAllChoices(request, Failed(NoText()));
    for (Sequence* beam : beams) scheduler_.Remove(*beam);
    const size_t first = report_.finished_choices.size();
    request.FinishBeams(options_.token_bytes, clock_(), report_.finished_choices);
    NoteFinished(request);
    for (const FinishedChoice& choice : std::span(report_.finished_choices).subspan(first))
      report_.sampled_tokens += choice.completion_tokens;
    return;
  }
  // Only a constraint leaves fewer.
  WEFT_CHECK(steps.size() == beams.size() || rows.front()->sequence->text != nullptr);
  const std::vector<BeamStep> step_of = PlaceSteps(steps, beams.size());
  for (size_t i = 0; i < beams.size(); ++i) {
    Sequence& parent = *beams[static_cast<size_t>(step_of[i].parent)];
    if (&parent == beams[i]) continue;
    scheduler_.Fork(parent, *beams[i]);
    if (parent.text != nullptr) beams[i]->text = parent.text->Fork();
  }
  for (size_t i = 0; i < beams.size(); ++i) {
    if (beams[i]->text != nullptr) {
      CountMask(*beams[i]->text);
      beams[i]->text->Append(step_of[i].token);
    }
    beams[i]->tokens.push_back(step_of[i].token);
    beams[i]->logprob_sum = step_of[i].logprob_sum;
  }
}

void EngineCore::CommitPromptLogprob(const LogitTarget& target, TokenLogprob logprob) {
  Sequence& sequence = *target.sequence;
  if (sequence.state == SequenceState::kFinished) return;  // its request has failed
  WEFT_CHECK(target.position == sequence.next_prompt_logprob);
  sequence.request->AddPromptLogprob(std::move(logprob));
  ++sequence.next_prompt_logprob;
}

void EngineCore::CommitPrompt(Sequence& sequence) {
  LiveRequest& request = *sequence.request;
  if (!sequence.has_computed_prompt() || !sequence.kept_logits.empty()) return;
  request.times().first_token = computed_at_;
  report_.computed_prompt_tokens += sequence.input_count();
  if (options_.prefix_cache && sequence.cache_limit > 0) {
    report_.cache_queries += sequence.input_count();
    report_.cache_hits += sequence.cached_count;
    report_.cache_stateless += sequence.stateless_count();
  }
  request.EmitPromptLogprobs();
  if (const PoolingParams* pooling = request.pooling()) {
    if (pooling->output == PooledOutput::kTokenLogits) return;  // they are committed on their own
    return FinishPooling(request, pooling->output == PooledOutput::kSparse
                                      ? sequence.sparse_pooler->Take(runner_.sparse())
                                      : request.FromHiddenStates(runner_));
  }
  if (sequence.wanted_logits == WantedLogits::kNone) {
    FinishAllChoices(
        request,
        {.reason = FinishReason::kLength, .stop_string = {}, .stop_token = {}, .error = {}});
    return;
  }
  if (request.beam_search() != nullptr) return;  // beams are forked with their tokens
  for (const auto& choice : request.choices()) {
    if (choice->state != SequenceState::kAwaitingPrompt) continue;
    scheduler_.Fork(sequence, *choice);
    if (sequence.text != nullptr) choice->text = sequence.text->Fork();
  }
}

void EngineCore::FinishPooling(LiveRequest& request, Result<PooledResult> result) {
  if (!result) return FinishAllChoices(request, Failed(result.error()));
  request.EmitPooled(*std::move(result));
  FinishAllChoices(request, Ending());
}

void EngineCore::CommitToken(SampledToken& sampled) {
  Sequence& sequence = *sampled.sequence;
  LiveRequest& request = *sequence.request;
  if (sequence.state == SequenceState::kFinished) return;  // its request has failed
  if (sampled.is_over) return Finish(sequence, Ending());
  CountToken(sequence);
  if (sequence.text != nullptr) CountMask(*sequence.text);
  const TokenId token = sampled.sampled.token;
  sequence.mirostat_mu = sampled.sampled.mirostat_mu;
  if (sampled.logprob) sequence.logprob_sum += double{sampled.logprob->logprob};
  if (request.IsEnd(token)) {
    Finish(sequence,
           {.reason = FinishReason::kStop, .stop_string = {}, .stop_token = token, .error = {}});
    return;
  }
  const std::string_view bytes = request.TextOf(token, options_.token_bytes);
  if (sequence.text != nullptr) sequence.text->Append(token);
  std::optional<Ending> ending =
      request.AppendToken(sequence, token, bytes, std::move(sampled.logprob));
  if (ending) Finish(sequence, *std::move(ending));
}

void EngineCore::Finish(Sequence& sequence, Ending ending) {
  if (sequence.state != SequenceState::kFinished) scheduler_.Remove(sequence);
  sequence.request->Finish(sequence, std::move(ending), clock_(), report_.finished_choices);
  NoteFinished(*sequence.request);
}

void EngineCore::FinishAllChoices(LiveRequest& request, const Ending& ending) {
  // A choice may be out of the scheduler without its event: telling of it has thrown.
  for (const auto& choice : request.choices()) Finish(*choice, ending);
}

void EngineCore::EraseFinished() {
  if (!finished_.empty()) was_empty_ = false;
  for (LiveRequest* const request : finished_) {
    Dequeue(*request);
    if (request->deadline()) --deadline_count_;
    live_.erase(request->id());
    ++report_.finished_requests;
  }
  finished_.clear();
}

void EngineCore::NoteFinished(LiveRequest& request) {
  if (request.finished() && !std::exchange(request.noted, true)) finished_.push_back(&request);
}

void EngineCore::Dequeue(LiveRequest& request) {
  if (!std::exchange(request.queued, false)) return;
  --queued_count_;
  ++dequeued_count_;
}

void EngineCore::CountPlan(const StepPlan& plan, RequestTimes::Time started) {
  for (const PlannedSequence& planned : plan.sequences) {
    LiveRequest& request = *planned.sequence->request;
    if (request.queued) {
      request.times().started = started;
      request.EmitProgress(planned.first_position, started);
    }
    Dequeue(request);
    const int32_t prompt_rows =
        std::clamp(planned.sequence->prompt_count - planned.first_position, 0, planned.row_count);
    report_.prompt_tokens += prompt_rows;
    report_.generated_tokens += planned.row_count - prompt_rows;
  }
  report_.prompt_tokens += plan.source_row_count;
  report_.sequences += static_cast<int32_t>(plan.sequences.size());
  report_.preemptions += plan.preemptions;
}

void EngineCore::CountMask(const ConstrainedText& text) {
  if (text.mask_time() == std::chrono::nanoseconds(0)) return;
  ++report_.masks;
  report_.mask_time += text.mask_time();
}

void EngineCore::CountToken(Sequence& sequence) {
  ++report_.sampled_tokens;
  const RequestTimes::Time last = std::exchange(sequence.last_token_at, computed_at_);
  if (last == RequestTimes::Time()) {
    report_.first_tokens.push_back(sequence.request->times());
    return;
  }
  const std::chrono::nanoseconds gap = computed_at_ - last;
  // Those that took part in the step before, too, have one gap: nearly all.
  const auto found = std::ranges::find(report_.token_gaps, gap, &TokenGap::gap);
  if (found != report_.token_gaps.end()) {
    ++found->token_count;
  } else {
    report_.token_gaps.push_back({.gap = gap, .token_count = 1});
  }
}

StepReport EngineCore::TakeReport() {
  StepReport report = std::exchange(report_, {});
  report.running = static_cast<int32_t>(scheduler_.running().size());
  report.waiting = static_cast<int32_t>(scheduler_.line().size());
  report.used_blocks = pools_.used_count();
  report.total_blocks = pools_.total_count();
  report.block_usage = pools_.usage();
  return report;
}

int32_t EngineCore::TakeDequeuedCount() { return std::exchange(dequeued_count_, 0); }

}  // namespace weft
