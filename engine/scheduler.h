// Who computes when. Used by the engine thread alone.
//
// Policy:
//   * Sequences join and leave at every step. Those with one position to compute (decoding) come
//     first, oldest first; prompts, cut into chunks, fill what is left of the step.
//   * A step that carries running streams is predicted (StepCostModel) to take `max_stall` at most;
//     without one, only `max_batch_tokens` limits it. But prompts always get half of the time,
//     even where decoding alone takes more than the other half, and the oldest gets 8 rows at
//     least. With less, few would ever run together while all others wait, which costs throughput
//     where, as with experts, a row is the cheaper the more there are.
//   * Of what is left, each prompt gets half, oldest first, and what nobody took goes round again:
//     a short prompt does not wait until a long one before it is done, and the oldest is never held
//     up by more than half.
//   * A sequence is admitted when a slot is free and the pool holds blocks for all its tokens and,
//     if others than its own beams run, one more for each of them, so that admission does not cause
//     preemption at once. The oldest waiting sequence is never overtaken. Nobody is admitted
//     without a row to compute.
//   * A sequence starts behind the prompt's blocks that the prefix cache has, and skips those that
//     others compute before it gets to them. Of several whose next block is the same one, only the
//     oldest computes it.
//   * Where a running sequence needs a block and none is free, the newest running sequence gives up
//     all of its own, goes back to the queue and is computed again later. So the oldest always
//     finishes, and everybody becomes the oldest.
//   * The beams of a search decode in one step or not at all. One whose others are not ready (they
//     were preempted) waits with its last position; where everybody waits, the newest give way
//     until the oldest waiting sequence has room.
// Age is (priority, arrival, choice).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "engine/block_pool.h"
#include "engine/prefix_cache.h"
#include "engine/sequence.h"
#include "engine/step_cost.h"
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
  std::chrono::nanoseconds max_stall = std::chrono::milliseconds(100);
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
  // What a step that succeeded took as a whole, for later plans.
  void Learn(const StepPlan& plan, std::chrono::nanoseconds duration);
  // A choice that awaited the prompt of `from`, which has just been computed, starts to run with
  // the same tokens and blocks; or a running beam gives up its own for them.
  void Fork(Sequence& from, Sequence& to);

  const SequenceQueue& running() const { return running_; }
  const SequenceQueue& waiting() const { return waiting_; }

 private:
  // How much a step may hold.
  struct Budget {
    int32_t rows = 0;
    double seconds = 0;
  };

  void PlanRows(StepPlan& plan);
  void PlanDecodes(StepPlan& plan);
  static void TakeDecode(Sequence& sequence, StepPlan& plan);
  // Whether all have one position left and the step has room for it.
  bool AreReady(const std::vector<Sequence*>& beams, const StepPlan& plan) const;
  // SecureNextPosition for all; false if one of them, the newest, has been preempted.
  bool SecureBeams(const std::vector<Sequence*>& beams, StepPlan& plan);
  // What the whole step may hold, its decode rows included.
  Budget LimitFor(const StepPlan& plan);
  void PlanPrompts(StepPlan& plan, const Budget& limit);
  void AdmitWaiting(StepPlan& plan, const Budget& limit);
  // Gives the rows that its turn did not bring to those that could use them, oldest first.
  void ExtendChunks(StepPlan& plan, const Budget& limit);
  // Now and then a tile more than is predicted to fit, where there is some time left: a scheduler
  // that thinks larger chunks too slow would otherwise never learn that they no longer are.
  void Probe(StepPlan& plan, const Budget& limit) const;
  // The rows that a prompt gets in its turn, of those that it still has; 0: the step is full.
  int32_t RowsInTurn(int32_t first_position, int32_t end_position, const StepPlan& plan,
                     const Budget& limit) const;
  // The most rows, beginning at this position, that keep the step within the budget.
  int32_t RowsWithin(const StepPlan& plan, const Budget& budget, int32_t first_position,
                     int32_t pending_count) const;
  static void Extend(PlannedSequence& planned, int32_t row_count, StepPlan& plan);
  static void Take(Sequence& sequence, int32_t row_count, StepPlan& plan);
  static void TakeChunk(Sequence& sequence, int32_t row_count, StepPlan& plan);
  // Whether an older sequence computes this one's next block in this step, to the block's end.
  bool IsComputedFor(const Sequence& sequence, const StepPlan& plan) const;
  // The cached blocks that a waiting sequence begins with, if it can be admitted. Valid until the
  // next call.
  std::optional<std::span<const int32_t>> FindRoom(const Sequence& sequence);
  // Makes the block of the next position the sequence's own, at the cost of newer sequences. False
  // if it was itself the newest and has been preempted.
  bool SecureNextPosition(Sequence& sequence, StepPlan& plan);
  bool TrySecureNextPosition(Sequence& sequence, StepPlan& plan);
  void Preempt(Sequence& sequence, StepPlan& plan);

  const SchedulerOptions options_;
  BlockPool& pool_;
  PrefixCache cache_;
  SequenceQueue waiting_;
  SequenceQueue running_;
  int32_t running_slots_ = 0;
  StepCostModel cost_;
};

}  // namespace weft
