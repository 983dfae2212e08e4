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
#include "engine/row_visitor.h"
#include "engine/sampler.h"
#include "engine/scheduler.h"
#include "engine/sequence_blocks.h"
#include "engine/sparse_pooler.h"

namespace weft {

class EngineCore {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  // `clock` measures the steps, and what happens to requests. `wake` is called on any thread when
  // is_stalled() has ended, even after the engine's life; optional.
  EngineCore(const EngineOptions& options, ModelRunner& runner,
             Clock clock = std::chrono::steady_clock::now, std::function<void()> wake = {});

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
  // The last step had nothing to compute, and nothing has happened since that changes this: all
  // sequences that could run are parked.
  bool is_stalled() const;
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
  Result<void> RunPlan(const StepPlan& plan);
  // A pooler of this step for each text that a sparse vector is made of.
  void AssignSparsePoolers(const StepPlan& plan);
  // Has what may come next found out beside the step, for sequences of it that are constrained.
  void FillMasks(const StepPlan& plan);
  // Its row is kept until that is known.
  void Park(Sequence& sequence, std::vector<float> logits);
  // Goes on with parked sequences, from the rows that they have kept.
  void CommitParked();

  void Commit(const StepPlan& plan);
  void CommitPromptLogprob(const LogitTarget& target, TokenLogprob logprob);
  void CommitPrompt(Sequence& sequence);
  // The terminal events of a request that pools, where its result is there, an error or not.
  void FinishPooling(LiveRequest& request, Result<PooledResult> result);
  // What outcomes_ have for texts that are generated.
  void CommitTokens();
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
  // Of what was found out for the token that has come.
  void CountMask(const ConstrainedText& text);

  const EngineOptions& options_;
  ModelRunner& runner_;
  const Clock clock_;
  const std::function<void()> wake_;
  const RowVisitor visitor_;
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
  bool was_empty_ = false;  // it had nothing to compute

  StepReport report_;  // counts since the last TakeReport
  int32_t dequeued_count_ = 0;
};

}  // namespace weft
