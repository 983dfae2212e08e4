// The engine without its thread: requests in, one step at a time, events out. Used by one thread,
// which holds ScopedFlushDenormals. Tests drive it step by step.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/batch_builder.h"
#include "engine/engine.h"
#include "engine/live_request.h"
#include "engine/model_runner.h"
#include "engine/sampler.h"
#include "engine/scheduler.h"
#include "engine/sequence_blocks.h"
#include "engine/sparse_pooler.h"

namespace weft {

class EngineCore {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  // `clock` measures the steps, and what happens to requests.
  EngineCore(const EngineOptions& options, ModelRunner& runner,
             Clock clock = std::chrono::steady_clock::now);

  // As ValidateRequest, of this engine: any thread may call it.
  Result<void> Validate(const Request& request) const;

  // From here on the request gets its terminal events. It has been validated.
  void Add(Request request);
  void Abort(RequestId id);
  void AbortExpired(std::chrono::steady_clock::time_point now);
  void AbortAll();
  // After an exception: every request fails, and the engine can go on.
  void FailAll(const std::string& error);

  bool has_work() const { return !live_.empty(); }
  // Plans, runs, samples and commits one step; there is work. A failed step fails its requests.
  void Step();

  // What happened since the last report, and the state now.
  StepReport TakeReport();
  // Requests that left the queue (into their first step, or ended) since the last call.
  int32_t TakeDequeuedCount();
  // Those that are in it.
  int32_t queued_count() const { return queued_count_; }

  const Scheduler& scheduler() const { return scheduler_; }
  const BlockPools& pools() const { return pools_; }

 private:
  struct SampledToken {
    Sequence* sequence = nullptr;
    Sampled sampled;
    std::optional<TokenLogprob> logprob;
  };
  // What a beam may go on with.
  struct BeamRow {
    Sequence* sequence = nullptr;
    std::vector<std::pair<TokenId, float>> tokens;
  };
  // What became of one row of logits.
  struct RowOutcome {
    bool visited = false;
    std::vector<SampledToken> sampled;  // a token a choice that continues from this row
    std::optional<TokenLogprob> prompt_logprob;
    std::optional<BeamRow> beam;
    std::optional<PooledResult> token_logits;
    std::optional<Error> error;  // fails the request
  };

  Result<void> RunPlan(const StepPlan& plan);
  // A pooler of this step for each text that a sparse vector is made of.
  void AssignSparsePoolers(const StepPlan& plan);
  // These run on the threads that compute, each with a sampler of its own, and change nothing but
  // `outcome`, and what the sequence's sparse pooler holds.
  void VisitLogits(const LogitTarget& target, std::span<const float> logits, Sampler& sampler,
                   RowOutcome& outcome) const;
  Result<void> MeasurePromptToken(const LogitTarget& target, std::span<const float> logits,
                                  Sampler& sampler, RowOutcome& outcome) const;
  Result<void> SampleChoices(Sequence& sequence, std::span<const float> logits, Sampler& sampler,
                             RowOutcome& outcome) const;
  // `choice` goes on from what `computed`, itself or the choice whose prompt it awaits, has.
  Result<void> SampleToken(Sequence& choice, const Sequence& computed,
                           std::span<const float> logits, Sampler& sampler,
                           RowOutcome& outcome) const;

  static Result<void> PoolLogits(const LogitTarget& target, std::span<const float> logits,
                                 RowOutcome& outcome);
  static Result<void> RankBeam(Sequence& sequence, std::span<const float> logits, Sampler& sampler,
                               RowOutcome& outcome);

  void Commit(const StepPlan& plan);
  void CommitPromptLogprob(const LogitTarget& target, TokenLogprob logprob);
  void CommitPrompt(Sequence& sequence);
  // The terminal events of a request that pools, where its result is there, an error or not.
  void FinishPooling(LiveRequest& request, Result<PooledResult> result);
  void CommitToken(SampledToken& sampled);
  // The beams of this step, a request's together.
  void CommitBeams();
  void AdvanceBeams(LiveRequest& request, const std::vector<BeamRow*>& rows);
  void Finish(Sequence& sequence, Ending ending);
  // Ends every choice that has not ended; the request is erased by EraseFinished.
  void FinishAllChoices(LiveRequest& request, const Ending& ending);
  // For EraseFinished, if its last choice has ended.
  void NoteFinished(LiveRequest& request);
  void EraseFinished();
  void Dequeue(LiveRequest& request);
  void CountPlan(const StepPlan& plan, RequestTimes::Time started);
  // A token that the step sampled for this choice.
  void CountToken(Sequence& sequence);

  const EngineOptions& options_;
  ModelRunner& runner_;
  const Clock clock_;
  BlockPools pools_;
  Scheduler scheduler_;
  BatchBuilder batch_builder_;
  std::vector<Sampler> samplers_;             // one a thread that computes
  std::vector<SparsePooler> sparse_poolers_;  // one a sequence of a step, if the model has use
  // A step costs nothing a request that waits: what is looked for in all of them is counted.
  std::map<RequestId, std::unique_ptr<LiveRequest>> live_;
  std::vector<LiveRequest*> finished_;  // of live_, to be erased; room for all is there
  int32_t deadline_count_ = 0;          // of live_, those with a deadline
  int32_t queued_count_ = 0;            // of live_, those that have not been in a step
  uint64_t next_arrival_ = 0;

  // Results of the step that runs.
  std::vector<RowOutcome> outcomes_;  // one a BatchBuilder::logit_targets()
  RequestTimes::Time computed_at_;

  StepReport report_;  // counts since the last TakeReport
  int32_t dequeued_count_ = 0;
};

}  // namespace weft
