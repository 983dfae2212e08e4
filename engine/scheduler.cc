#include "engine/scheduler.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/check.h"
#include "base/checked_math.h"

namespace weft {
namespace {

// What the kernels compute at once: a step that is cut to the time ends with a full tile.
constexpr int32_t kTileRows = 16;
// What the oldest prompt gets at least, whatever it costs, and others if there is time.
constexpr int32_t kMinChunkRows = 8;

// The least number of rows from kMinChunkRows on that fills up a tile behind `row_count` others.
int32_t LeastChunk(int32_t row_count) {
  return RoundUp(row_count + kMinChunkRows, kTileRows) - row_count;
}

bool IsPrompt(const Sequence* sequence) { return sequence->pending_count() > 1; }

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options, BlockPool& pool)
    : options_(options), pool_(pool), cache_(pool, options.block_size) {
  WEFT_CHECK(options.block_size > 0 && options.max_batch_tokens > 0 && options.max_sequences > 0);
  WEFT_CHECK(options.max_stall.count() > 0);
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
  PlanRows(plan);
  // Beams may wait for others that have no room, nobody else computing anything.
  while (plan.sequences.empty() && !running_.empty()) {
    Preempt(**running_.rbegin(), plan);
    AdmitWaiting(plan, LimitFor(plan));
    if (plan.sequences.empty()) PlanDecodes(plan);
  }
  return plan;
}

void Scheduler::PlanRows(StepPlan& plan) {
  PlanDecodes(plan);
  const bool admits = plan.preemptions == 0 && !waiting_.empty() && FindRoom(**waiting_.begin());
  const bool prompts_run = std::any_of(running_.begin(), running_.end(), IsPrompt);
  if (plan.row_count == options_.max_batch_tokens || (!admits && !prompts_run)) return;
  const Budget limit = LimitFor(plan);
  PlanPrompts(plan, limit);
  if (plan.preemptions == 0) AdmitWaiting(plan, limit);
  ExtendChunks(plan, limit);
  if (plan.stream_count > 0) {
    Probe(plan, limit);
    plan.predicted_seconds = cost_.PredictSeconds(plan.shape);
  }
}

void Scheduler::PlanDecodes(StepPlan& plan) {
  // Preemption erases only sequences newer than the current one, or it and then the loop is over.
  for (auto it = running_.begin();
       it != running_.end() && plan.row_count < options_.max_batch_tokens; ++it) {
    Sequence& sequence = **it;
    if (IsPrompt(&sequence)) continue;
    if (sequence.has_siblings()) {
      const bool leads = sequence.beams->front() == &sequence;
      if (!leads || !AreReady(*sequence.beams, plan)) continue;
      if (!SecureBeams(*sequence.beams, plan)) break;
      for (Sequence* beam : *sequence.beams) TakeDecode(*beam, plan);
    } else {
      if (!SecureNextPosition(sequence, plan)) break;
      TakeDecode(sequence, plan);
    }
  }
}

void Scheduler::TakeDecode(Sequence& sequence, StepPlan& plan) {
  plan.shape.AddDecode(sequence.computed_count);
  if (sequence.output_count() > 0) ++plan.stream_count;
  Take(sequence, 1, plan);
}

bool Scheduler::AreReady(const std::vector<Sequence*>& beams, const StepPlan& plan) const {
  if (plan.row_count + std::ssize(beams) > options_.max_batch_tokens) return false;
  return std::ranges::all_of(beams, [](const Sequence* beam) {
    return beam->state == SequenceState::kRunning && beam->pending_count() == 1;
  });
}

bool Scheduler::SecureBeams(const std::vector<Sequence*>& beams, StepPlan& plan) {
  // In the order of their age: who has its position keeps it.
  return std::ranges::all_of(beams, [&](Sequence* beam) {
    return beam->state == SequenceState::kRunning && SecureNextPosition(*beam, plan);
  });
}

Scheduler::Budget Scheduler::LimitFor(const StepPlan& plan) {
  constexpr double kMostOverDecoding = 2;  // leaves prompts half of the time
  Budget limit{.rows = options_.max_batch_tokens,
               .seconds = std::numeric_limits<double>::infinity()};
  if (plan.stream_count == 0) return limit;
  cost_.Fit();
  limit.seconds = std::chrono::duration<double>(options_.max_stall).count();
  if (cost_.knows_decoding()) {
    limit.seconds = std::max(limit.seconds, kMostOverDecoding * cost_.PredictSeconds(plan.shape));
  }
  return limit;
}

void Scheduler::PlanPrompts(StepPlan& plan, const Budget& limit) {
  // Their blocks are their own since admission.
  for (Sequence* sequence : running_) {
    if (!IsPrompt(sequence)) continue;
    cache_.Adopt(*sequence, cache_.Match(*sequence));
    if (IsComputedFor(*sequence, plan)) continue;
    const int32_t row_count =
        RowsInTurn(sequence->computed_count, sequence->chunk_end(), plan, limit);
    if (row_count == 0) return;
    TakeChunk(*sequence, row_count, plan);
  }
}

bool Scheduler::IsComputedFor(const Sequence& sequence, const StepPlan& plan) const {
  return std::ranges::any_of(plan.sequences, [&](const PlannedSequence& planned) {
    return planned.row_count >= options_.block_size &&
           cache_.ComputesNextBlockOf(*planned.sequence, sequence);
  });
}

std::optional<std::span<const int32_t>> Scheduler::FindRoom(const Sequence& sequence) {
  if (running_slots_ + sequence.slot_count > options_.max_sequences) return std::nullopt;
  const std::span<const int32_t> cached = cache_.Match(sequence);
  // Those that others use take no room.
  const int64_t used_count = std::ranges::count_if(
      cached, [&](int32_t block) { return pool_.reference_count(block) > 0; });
  const int64_t block_count = CeilDivide(sequence.token_count(), options_.block_size) - used_count;
  // Beams of one search fit together from the start.
  const int64_t spare_count = std::ranges::count_if(running_, [&](const Sequence* running) {
    return running->beams == nullptr || running->beams != sequence.beams;
  });
  const bool fits = pool_.free_count() >= block_count + spare_count;
  WEFT_CHECK(fits || !running_.empty());  // alone, everybody fits
  if (!fits) return std::nullopt;
  return cached;
}

void Scheduler::AdmitWaiting(StepPlan& plan, const Budget& limit) {
  while (!waiting_.empty()) {
    Sequence& sequence = **waiting_.begin();
    const std::optional<std::span<const int32_t>> cached = FindRoom(sequence);
    if (!cached) return;
    const auto first_position = static_cast<int32_t>(cached->size()) * options_.block_size;
    const int32_t row_count = RowsInTurn(first_position, sequence.chunk_end(), plan, limit);
    if (row_count == 0) return;
    cache_.Adopt(sequence, *cached);
    const int64_t block_count = CeilDivide(sequence.token_count(), options_.block_size);
    while (sequence.blocks.block_count() < block_count) WEFT_CHECK(sequence.blocks.Grow());
    running_.insert(waiting_.extract(waiting_.begin()));
    running_slots_ += sequence.slot_count;
    sequence.state = SequenceState::kRunning;
    if (!IsComputedFor(sequence, plan)) TakeChunk(sequence, row_count, plan);
  }
}

void Scheduler::ExtendChunks(StepPlan& plan, const Budget& limit) {
  for (PlannedSequence& planned : plan.sequences) {
    const int32_t position = planned.first_position + planned.row_count;
    const int32_t pending_count = planned.sequence->chunk_end() - position;
    if (pending_count <= 0) continue;
    const int32_t row_count = RowsWithin(plan, limit, position, pending_count);
    Extend(planned, row_count, plan);
  }
}

void Scheduler::Probe(StepPlan& plan, const Budget& limit) const {
  constexpr double kWellInside = 0.85;
  if (cost_.PredictSeconds(plan.shape) > kWellInside * limit.seconds ||
      cost_.knows_chunks_beyond(plan.shape.chunk_rows) ||
      plan.shape.chunk_rows + kTileRows > cost_.trusted_chunk_rows()) {
    return;
  }
  for (PlannedSequence& planned : plan.sequences) {
    const int32_t position = planned.first_position + planned.row_count;
    const int32_t pending_count = planned.sequence->chunk_end() - position;
    if (pending_count <= 0) continue;
    Extend(planned, std::min({kTileRows, pending_count, limit.rows - plan.row_count}), plan);
    return;
  }
}

void Scheduler::Extend(PlannedSequence& planned, int32_t row_count, StepPlan& plan) {
  plan.shape.AddChunk(planned.first_position + planned.row_count, row_count);
  planned.row_count += row_count;
  plan.row_count += row_count;
}

int32_t Scheduler::RowsInTurn(int32_t first_position, int32_t end_position, const StepPlan& plan,
                              const Budget& limit) const {
  const double seconds = cost_.PredictSeconds(plan.shape);
  const int32_t rows_left = limit.rows - plan.row_count;
  const Budget half = {.rows = plan.row_count + rows_left / 2,
                       .seconds = seconds + (limit.seconds - seconds) / 2};
  const int32_t pending_count = end_position - first_position;
  const int32_t row_count = RowsWithin(plan, half, first_position, pending_count);
  if (row_count >= kMinChunkRows) return row_count;
  const int32_t least = std::min({LeastChunk(plan.row_count), pending_count, rows_left});
  if (plan.shape.chunk_rows == 0) return least;  // the oldest: whatever it costs
  return std::min(least, RowsWithin(plan, limit, first_position, pending_count));
}

int32_t Scheduler::RowsWithin(const StepPlan& plan, const Budget& budget, int32_t first_position,
                              int32_t pending_count) const {
  int32_t most = std::min(pending_count, budget.rows - plan.row_count);
  if (plan.stream_count > 0) {
    most = std::min(most, cost_.trusted_chunk_rows() - plan.shape.chunk_rows);
  }
  if (most <= 0) return 0;
  const auto fits = [&](int32_t row_count) {
    StepShape shape = plan.shape;
    shape.AddChunk(first_position, row_count);
    return cost_.PredictSeconds(shape) <= budget.seconds;
  };
  if (fits(most)) return most;
  // In tiles of the whole step: `low` fits or adds nothing, `high` does not fit.
  int32_t low = plan.row_count / kTileRows;
  int32_t high = CeilDivide(plan.row_count + most, kTileRows);
  while (high - low > 1) {
    const int32_t middle = (low + high) / 2;
    (fits(middle * kTileRows - plan.row_count) ? low : high) = middle;
  }
  return std::max(low * kTileRows - plan.row_count, 0);
}

void Scheduler::TakeChunk(Sequence& sequence, int32_t row_count, StepPlan& plan) {
  plan.shape.AddChunk(sequence.computed_count, row_count);
  Take(sequence, row_count, plan);
}

void Scheduler::Take(Sequence& sequence, int32_t row_count, StepPlan& plan) {
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
  sequence.reached_count = std::max(sequence.reached_count, sequence.computed_count);
  sequence.computed_count = 0;
  sequence.state = SequenceState::kWaiting;
  ++plan.preemptions;
}

void Scheduler::Commit(const StepPlan& plan) {
  for (const PlannedSequence& planned : plan.sequences) {
    WEFT_CHECK(planned.sequence->computed_count == planned.first_position);
    planned.sequence->computed_count += planned.row_count;
    cache_.Keep(*planned.sequence, planned.first_position);
  }
}

void Scheduler::Learn(const StepPlan& plan, std::chrono::nanoseconds duration) {
  cost_.Observe(plan.shape, duration);
}

void Scheduler::Fork(Sequence& from, Sequence& to) {
  WEFT_CHECK(from.state == SequenceState::kRunning && from.pending_count() == 0);
  const bool begins = to.state == SequenceState::kAwaitingPrompt;
  WEFT_CHECK(begins ? from.slot_count > 1 : to.state == SequenceState::kRunning);
  to.tokens = from.tokens;
  to.prompt_count = from.prompt_count;
  to.next_prompt_logprob = to.prompt_count;
  to.computed_count = from.computed_count;
  to.blocks = from.blocks.Share();
  if (!begins) return;
  running_.insert(&to);
  to.state = SequenceState::kRunning;
  --from.slot_count;
}

}  // namespace weft
