// Who computes when. Used by the engine thread alone.
//
// Policy:
//   * Sequences join and leave at every step. Those with one position to compute (decoding) come
//     first, oldest first; prompts, cut into chunks, fill what is left of the token budget.
//   * A sequence is admitted when a slot is free and the pool holds blocks for all its tokens and,
//     if others run, one more for each of them, so that admission does not cause preemption at
//     once. The oldest waiting sequence is never overtaken.
//   * Where a running sequence needs a block and none is free, the newest running sequence gives up
//     all of its own, goes back to the queue and is computed again later. So the oldest always
//     finishes, and everybody becomes the oldest.
// Age is (priority, arrival, choice).
#pragma once

#include <cstdint>
#include <set>

#include "engine/block_pool.h"
#include "engine/sequence.h"
#include "engine/step_plan.h"

namespace weft {

struct OlderFirst {
  bool operator()(const Sequence* a, const Sequence* b) const { return a->age < b->age; }
};
using SequenceQueue = std::set<Sequence*, OlderFirst>;

struct SchedulerOptions {
  int32_t block_size = 0;        // positions a block
  int32_t max_batch_tokens = 0;  // rows of one step
  int32_t max_sequences = 0;     // running at once
};

class Scheduler {
 public:
  Scheduler(const SchedulerOptions& options, BlockPool& pool);

  // Into the queue. The sequence has tokens, at most max_sequences slots, and fits the pool to its
  // last token. It stays valid until Remove.
  void Add(Sequence& sequence);
  // Out of the queue or out of the running; its blocks are released. Not between Plan and Commit.
  void Remove(Sequence& sequence);

  // Not empty unless there is nothing to do. Every plan is followed by Commit, or by Remove of all
  // its sequences.
  StepPlan Plan();
  // The plan's positions are computed.
  void Commit(const StepPlan& plan);
  // A choice that awaited the prompt of `from`, which has just been computed, starts to run with
  // the same tokens and blocks.
  void Fork(Sequence& from, Sequence& to);

  const SequenceQueue& running() const { return running_; }
  const SequenceQueue& waiting() const { return waiting_; }

 private:
  void PlanDecodes(StepPlan& plan);
  void PlanPrompts(StepPlan& plan);
  void AdmitWaiting(StepPlan& plan);
  // Takes the next rows of a running sequence, as many as the budget allows.
  void Take(Sequence& sequence, StepPlan& plan);
  // Makes the block of the next position the sequence's own, at the cost of newer sequences. False
  // if it was itself the newest and has been preempted.
  bool SecureNextPosition(Sequence& sequence, StepPlan& plan);
  bool TrySecureNextPosition(Sequence& sequence, StepPlan& plan);
  void Preempt(Sequence& sequence, StepPlan& plan);
  int32_t budget_left(const StepPlan& plan) const {
    return options_.max_batch_tokens - plan.row_count;
  }

  const SchedulerOptions options_;
  BlockPool& pool_;
  SequenceQueue waiting_;
  SequenceQueue running_;
  int32_t running_slots_ = 0;
};

}  // namespace weft
