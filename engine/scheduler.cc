#include "engine/scheduler.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/checked_math.h"

namespace weft {

Scheduler::Scheduler(const SchedulerOptions& options, BlockPool& pool)
    : options_(options), pool_(pool) {
  WEFT_CHECK(options.block_size > 0 && options.max_batch_tokens > 0 && options.max_sequences > 0);
}

void Scheduler::Add(Sequence& sequence) {
  WEFT_CHECK(sequence.pending_count() > 0 && sequence.computed_count == 0);
  WEFT_CHECK(sequence.slot_count <= options_.max_sequences);
  sequence.state = SequenceState::kWaiting;
  WEFT_CHECK(waiting_.insert(&sequence).second);
}

void Scheduler::Remove(Sequence& sequence) {
  if (running_.erase(&sequence) > 0) {
    running_slots_ -= sequence.slot_count;
  } else {
    waiting_.erase(&sequence);
  }
  sequence.blocks.Clear();
  sequence.state = SequenceState::kFinished;
}

StepPlan Scheduler::Plan() {
  StepPlan plan;
  PlanDecodes(plan);
  PlanPrompts(plan);
  if (plan.preemptions == 0) AdmitWaiting(plan);
  return plan;
}

void Scheduler::PlanDecodes(StepPlan& plan) {
  // Preemption erases only sequences newer than the current one, or it and then the loop is over.
  for (auto it = running_.begin(); it != running_.end() && budget_left(plan) > 0; ++it) {
    Sequence& sequence = **it;
    if (sequence.pending_count() > 1) continue;
    if (!SecureNextPosition(sequence, plan)) break;
    Take(sequence, plan);
  }
}

void Scheduler::PlanPrompts(StepPlan& plan) {
  // Their blocks are their own since admission.
  for (Sequence* sequence : running_) {
    if (budget_left(plan) == 0) return;
    if (sequence->pending_count() > 1) Take(*sequence, plan);
  }
}

void Scheduler::AdmitWaiting(StepPlan& plan) {
  while (budget_left(plan) > 0 && !waiting_.empty()) {
    Sequence& sequence = **waiting_.begin();
    if (running_slots_ + sequence.slot_count > options_.max_sequences) return;
    const int64_t block_count = CeilDivide(sequence.token_count(), options_.block_size);
    const int64_t spare_count = static_cast<int64_t>(running_.size());
    if (pool_.free_count() < block_count + spare_count) {
      WEFT_CHECK(!running_.empty());  // alone, everybody fits
      return;
    }
    while (sequence.blocks.block_count() < block_count) WEFT_CHECK(sequence.blocks.Grow());
    running_.insert(waiting_.extract(waiting_.begin()));
    running_slots_ += sequence.slot_count;
    sequence.state = SequenceState::kRunning;
    Take(sequence, plan);
  }
}

void Scheduler::Take(Sequence& sequence, StepPlan& plan) {
  const int32_t row_count = std::min(sequence.pending_count(), budget_left(plan));
  plan.sequences.push_back(
      {.sequence = &sequence, .first_position = sequence.computed_count, .row_count = row_count});
  plan.row_count += row_count;
}

bool Scheduler::SecureNextPosition(Sequence& sequence, StepPlan& plan) {
  while (!TrySecureNextPosition(sequence, plan)) {
    Sequence& newest = **running_.rbegin();
    WEFT_CHECK(running_.size() > 1);  // alone, everybody fits
    Preempt(newest, plan);
    if (&newest == &sequence) return false;
  }
  return true;
}

bool Scheduler::TrySecureNextPosition(Sequence& sequence, StepPlan& plan) {
  const int32_t index = sequence.computed_count / options_.block_size;
  if (index == sequence.blocks.block_count()) return sequence.blocks.Grow();
  if (!sequence.blocks.IsShared(index)) return true;
  const std::optional<BlockCopy> copy = sequence.blocks.Unshare(index);
  if (copy) plan.copies.push_back(*copy);
  return copy.has_value();
}

void Scheduler::Preempt(Sequence& sequence, StepPlan& plan) {
  waiting_.insert(running_.extract(&sequence));
  running_slots_ -= sequence.slot_count;
  sequence.blocks.Clear();
  sequence.computed_count = 0;
  sequence.state = SequenceState::kWaiting;
  ++plan.preemptions;
}

void Scheduler::Commit(const StepPlan& plan) {
  for (const PlannedSequence& planned : plan.sequences) {
    WEFT_CHECK(planned.sequence->computed_count == planned.first_position);
    planned.sequence->computed_count += planned.row_count;
  }
}

void Scheduler::Fork(Sequence& from, Sequence& to) {
  WEFT_CHECK(from.state == SequenceState::kRunning && from.pending_count() == 0);
  WEFT_CHECK(to.state == SequenceState::kAwaitingPrompt && from.slot_count > 1);
  to.tokens = from.tokens;
  to.prompt_count = from.prompt_count;
  to.next_prompt_logprob = to.prompt_count;
  to.computed_count = from.computed_count;
  to.blocks = from.blocks.Share();
  to.state = SequenceState::kRunning;
  --from.slot_count;
  running_.insert(&to);
}

}  // namespace weft
