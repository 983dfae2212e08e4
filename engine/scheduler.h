// Who computes when. Used by the engine thread alone.
//
// Policy:
//   * Sequences join and leave at every step. Those with one position to compute (decoding) come
//     first, oldest first; prompts, cut into chunks, fill what is left of the step.
//   * A step that carries running streams, or computes prompts of several jobs, is predicted
//     (StepCostModel) to take `max_stall` at most; otherwise only `max_batch_tokens` limits it. But
//     prompts always get half of the time, even where decoding alone takes more than the other
//     half, and the oldest gets 8 rows at least. With less, few would ever run together while all
//     others wait, which costs throughput where, as with experts, a row is the cheaper the more
//     there are. Without streams a step may take eight times what it costs before its first row.
//   * Of what is left, each prompt gets half, oldest first, and what nobody took goes round again:
//     a short prompt does not wait until a long one before it is done, and the oldest is never held
//     up by more than half. Second prompts of a job come after the first ones of all others.
//   * Whole prompts (an encoder's) join a step as long as it has room and time for all of their
//     rows; the first one does in any case.
//   * So do the sources of an encoder-decoder, beside their sequences' first rows: the first one in
//   a
//     step in any case, others as long as there is room and time for all of their positions.
//   * Who is next of those that wait, WaitingLine says: the job that holds the fewest slots. While
//     others wait, no job holds more than half of the slots. If one does, its newest sequences give
//     way, as many as the others need: first the slots that its prompts keep for their choices.
//   * A prompt keeps slots for its choices as far as nobody else needs them. A choice for which
//     there was none waits when the prompt is computed, with its first token, as if preempted.
//   * A sequence is admitted when a slot is free and the pools hold blocks for all its tokens and
//     one more for each that runs, so that admission does not cause preemption at once. Nobody
//     overtakes the next one for want of blocks. Nobody is admitted without a row to compute.
//   * Where a group of layers forgets, a sequence holds blocks of what it sees and, while its
//     prompt is computed, of a step more; what it may come to hold is counted on admission.
//   * The beams of a search run together or not at all, from when they part on: they decode in one
//     step, are admitted at once and give way at once. A search for which too few slots are free is
//     overtaken by the jobs without a slot that were in the line when it became the next, and by no
//     later ones; one wider than half of the slots lets them go first in any case, and then may
//     keep its slots while others wait.
//   * A sequence starts behind the prompt's blocks that the prefix cache has, and skips those that
//     others compute before it gets to them. Of several whose next block is the same one, only the
//     oldest computes it; where there are states, the oldest computes all that they have in common,
//     and leaves a state where they part.
//   * Requests in the background (kBackgroundPriority) get what the others leave. None is admitted
//     while another waits, none counts where slots are shared out, and where another needs slots or
//     blocks they give up theirs, the newest first. Beside others' rows they get what
//     BackgroundShare says; alone, a step of `max_stall`, so that who comes does not wait for
//     longer. While all others are parked they wait, too.
//   * Parked sequences keep slots and blocks, and take part in no step.
//   * Where a running sequence needs a block and none is free, the newest running sequence gives up
//     all of its own, goes back to the line and is computed again later. So the oldest that runs
//     always finishes.
// Age is (priority, arrival, choice).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "engine/background_share.h"
#include "engine/chunk_sizer.h"
#include "engine/prefix_cache.h"
#include "engine/sequence.h"
#include "engine/sequence_blocks.h"
#include "engine/step_cost.h"
#include "engine/step_plan.h"
#include "engine/waiting_line.h"

namespace weft {

struct SchedulerOptions {
  int32_t max_batch_tokens = 0;  // rows of one step
  int32_t max_sequences = 0;     // running at once
  bool whole_prompts = false;    // each in one step, alone if it has more than max_batch_tokens
  std::chrono::nanoseconds max_stall = std::chrono::milliseconds(100);
};

class Scheduler {
 public:
  Scheduler(const SchedulerOptions& options, BlockPools& pools);

  // Into the line. The sequence has tokens, needs at most max_sequences slots, and fits the pools
  // to its last token. It stays valid until Remove.
  void Add(Sequence& sequence);
  // Out of the line or out of the running; its blocks are released. Not between Plan and Commit.
  // Whatever an exception has left undone in the other calls.
  void Remove(Sequence& sequence) noexcept;

  // Not empty unless there is nothing to do but to wait for parked sequences. Every plan is
  // followed by Commit, or by Remove of all its sequences.
  StepPlan Plan();
  // The plan's positions are computed.
  void Commit(const StepPlan& plan);
  // What a step that succeeded took as a whole, for later plans.
  void Learn(const StepPlan& plan, std::chrono::nanoseconds duration);
  // A choice that awaited the prompt of `from`, which has just been computed, starts to run with
  // the same tokens and blocks, or waits with them if there is no slot for it; or a running beam
  // gives up its own for them.
  void Fork(Sequence& from, Sequence& to);

  const SequenceQueue& running() const { return running_; }
  const WaitingLine& line() const { return line_; }

 private:
  using JobSet = std::set<RequestId>;

  int32_t free_slots() const { return options_.max_sequences - running_slots_; }
  // What a job may hold while others wait.
  int32_t fair_slots() const { return std::max(options_.max_sequences / 2, 1); }
  bool IsWide(const Sequence& sequence) const { return sequence.least_slots() > fair_slots(); }
  // The sequences that run together or not at all: a search's beams, from when they part on.
  static std::vector<Sequence*> UnitOf(Sequence& sequence);

  void Fill(StepPlan& plan);
  // Whom a part of the plan is for.
  enum class Ground { kFore, kBack };
  static Ground GroundOf(const Sequence& sequence) {
    return sequence.is_background() ? Ground::kBack : Ground::kFore;
  }
  // What the foreground needs, at the cost of the background.
  void YieldToForeground(StepPlan& plan);
  // `lacks_blocks`: somebody has been preempted for want of them.
  void FillForeground(bool lacks_blocks, StepPlan& plan);
  void FillBackground(bool lacks_blocks, StepPlan& plan);
  // What the whole step may hold, with rows in the background; nullopt: none of those.
  std::optional<StepLimit> BackgroundLimit(const StepPlan& plan);
  // Takes from a job that holds more than its share what others that wait need.
  void GiveWay(StepPlan& plan);
  // The job's newest unit; nullptr if it is the only one, and not to be divided.
  Sequence* NewestToSpare(RequestId job_id) const;
  // Every running prompt goes on behind what others have computed, and gets blocks for a step.
  void PrepareChunks(StepPlan& plan);
  // False if it was itself the newest and has been preempted.
  bool CoverChunk(Sequence& sequence, StepPlan& plan);
  void PlanDecodes(Ground ground, StepPlan& plan, const StepLimit& limit);
  // Whether the step stays within the limit with the next positions of these.
  bool HasTimeFor(const std::vector<Sequence*>& decoding, const StepPlan& plan,
                  const StepLimit& limit) const;
  static void TakeDecode(Sequence& sequence, StepPlan& plan);
  // Whether all have one position left and the step has room for it.
  bool AreReady(const std::vector<Sequence*>& beams, const StepPlan& plan) const;
  // SecureNextPosition for all; false if they were the newest and have been preempted.
  bool SecureBeams(const std::vector<Sequence*>& beams, StepPlan& plan);
  // What the whole step may hold, its decode rows included.
  StepLimit LimitFor(const StepPlan& plan);
  // Whether the prompts of several jobs in the foreground are to be computed.
  bool JobsShareSteps() const;
  // The next chunks of running prompts, and of those that wait if `may_admit`.
  void PlanPrompts(Ground ground, bool may_admit, StepPlan& plan, const StepLimit& limit);
  // A chunk of a running prompt, unless an older one computes it; false: the step is full.
  bool PlanPrompt(Sequence& sequence, StepPlan& plan, const StepLimit& limit);
  // Those that wait; if there is a set, one of each job that is not part of it, and becomes it.
  void AdmitWaiting(Ground ground, JobSet* passed_over, StepPlan& plan, const StepLimit& limit);
  // Who is to be admitted next, without regard to blocks and rows; nullptr: nobody.
  Sequence* NextInLine(const JobSet* passed_over);
  bool MayHold(const Sequence& sequence, int32_t slot_count) const;
  // Whether the source that a sequence needs may join the step.
  bool MayTakeSource(const Sequence& sequence, const StepPlan& plan, const StepLimit& limit) const;
  static void TakeSource(Sequence& sequence, StepPlan& plan);
  // Of a sequence that is admitted for the first time, and whose prompt is there so far.
  void NoteFound(Sequence& sequence, int32_t matched) const;
  // The blocks of its source for each of a unit that is admitted.
  void CoverSources(const std::vector<Sequence*>& unit);
  // False: there is no room, or no row for it.
  bool Admit(Sequence& sequence, StepPlan& plan, const StepLimit& limit);
  // How many slots a waiting sequence gets.
  int32_t SlotsFor(const Sequence& sequence) const;
  static void Take(Sequence& sequence, int32_t row_count, StepPlan& plan);
  static void TakeChunk(Sequence& sequence, int32_t row_count, StepPlan& plan);
  // Whether an older sequence computes this one's next block in this step, to the block's end.
  bool IsComputedFor(Sequence& sequence, const StepPlan& plan);
  // Whether slots and blocks are free for a waiting sequence.
  bool HasRoom(Sequence& sequence);
  // Of the blocks of one group of its own positions, and of its source.
  bool HasBlocks(Sequence& sequence, size_t group);
  bool HasSourceBlocks(const Sequence& sequence) const;
  // The end of what a step may compute of the sequence.
  int32_t AheadOf(const Sequence& sequence) const;
  // From the line, or a choice that has just begun, to those that run.
  void Run(Sequence& sequence, int32_t slot_count);
  // From those that run.
  void Stop(Sequence& sequence) noexcept;
  // A running sequence counts as so many slots more, or fewer.
  void AddSlots(const Sequence& sequence, int32_t count);
  // Makes the block of the next position the sequence's own, at the cost of newer sequences. False
  // if it was itself the newest and has been preempted.
  bool SecureNextPosition(Sequence& sequence, StepPlan& plan);
  // Its whole unit goes back to the line.
  void Preempt(Sequence& sequence, StepPlan& plan);

  const SchedulerOptions options_;
  BlockPools& pools_;
  PrefixCache cache_;
  WaitingLine line_;
  uint64_t newest_arrival_ = 0;  // of all that were ever added
  SequenceQueue running_;
  int32_t running_slots_ = 0;
  StepCostModel cost_;
  const ChunkSizer chunks_;
  BackgroundShare share_;
};

}  // namespace weft
