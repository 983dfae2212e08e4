#include "engine/scheduler.h"

#include <algorithm>
#include <span>

#include "base/check.h"
#include "base/checked_math.h"

namespace weft {
namespace {

bool IsPrompt(const Sequence* sequence) {
  return sequence->pending_count() > 1 || sequence->needs_source();
}

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options, BlockPools& pools)
    : options_(options),
      pools_(pools),
      cache_(pools),
      chunks_(cost_, options.whole_prompts),
      share_(options.max_batch_tokens, options.max_stall) {
  WEFT_CHECK(options.max_batch_tokens > 0 && options.max_sequences > 0);
  WEFT_CHECK(options.max_stall.count() > 0);
}

std::vector<Sequence*> Scheduler::UnitOf(Sequence& sequence) {
  return sequence.has_siblings() ? *sequence.beams : std::vector<Sequence*>{&sequence};
}

void Scheduler::Add(Sequence& sequence) {
  WEFT_CHECK(sequence.pending_count() > 0 && sequence.computed_count == 0);
  WEFT_CHECK(sequence.least_slots() <= options_.max_sequences);
  newest_arrival_ = std::max(newest_arrival_, sequence.age.arrival);
  cache_.NameSource(sequence);
  sequence.state = SequenceState::kWaiting;
  line_.Insert(sequence);
}

void Scheduler::Remove(Sequence& sequence) noexcept {
  if (sequence.state == SequenceState::kRunning) {
    Stop(sequence);
  } else {
    line_.Erase(sequence);
  }
  sequence.blocks.Clear();
  sequence.state = SequenceState::kFinished;
}

void Scheduler::Run(Sequence& sequence, int32_t slot_count) {
  const auto [place, is_new] = running_.insert(&sequence);
  WEFT_CHECK(is_new);
  try {
    AddSlots(sequence, slot_count);
  } catch (...) {
    running_.erase(place);
    throw;
  }
  sequence.state = SequenceState::kRunning;
  sequence.slot_count = slot_count;
}

void Scheduler::Stop(Sequence& sequence) noexcept {
  WEFT_CHECK(running_.erase(&sequence) == 1);
  AddSlots(sequence, -sequence.slot_count);
}

void Scheduler::AddSlots(const Sequence& sequence, int32_t count) {
  line_.AddSlots(sequence.job_id, count);
  running_slots_ += count;
}

StepPlan Scheduler::Plan() {
  StepPlan plan;
  Fill(plan);
  for (const PlannedSequence& planned : plan.sequences) {
    const int32_t end = planned.first_position + planned.row_count;
    planned.sequence->blocks.EndStateAt(end);
    cache_.CoverStates(*planned.sequence, end);
  }
  return plan;
}

void Scheduler::Fill(StepPlan& plan) {
  GiveWay(plan);
  YieldToForeground(plan);
  const int32_t preemptions = plan.preemptions;
  PrepareChunks(plan);
  PlanDecodes(Ground::kFore, plan,
              {.rows = options_.max_batch_tokens, .seconds = StepLimit::kUnlimited});
  FillForeground(plan.preemptions > preemptions, plan);
  FillBackground(plan.preemptions > preemptions, plan);
}

void Scheduler::FillForeground(bool lacks_blocks, StepPlan& plan) {
  Sequence* const next = lacks_blocks || line_.IsInBackground() ? nullptr : NextInLine(nullptr);
  const bool admits = next != nullptr && HasRoom(*next);
  const bool prompts_run = std::ranges::any_of(running_, [](const Sequence* sequence) {
    return IsPrompt(sequence) && !sequence->is_background();
  });
  if (plan.row_count == options_.max_batch_tokens || (!admits && !prompts_run)) return;
  const StepLimit limit = LimitFor(plan);
  // Blocks that the next one waits for are not for others, whose turn may come earlier in the step.
  const bool may_admit = admits || (next == nullptr && !lacks_blocks);
  PlanPrompts(Ground::kFore, may_admit, plan, limit);
  chunks_.Extend(plan, limit);
  if (limit.has_seconds()) {
    chunks_.Probe(plan, limit);
    plan.predicted_seconds = cost_.PredictSeconds(plan.shape);
  }
}

void Scheduler::GiveWay(StepPlan& plan) {
  if (line_.empty()) return;
  const auto large = std::ranges::find_if(running_, [&](const Sequence* sequence) {
    return line_.slot_count(sequence->job_id) > fair_slots();
  });
  if (large == running_.end()) return;
  const RequestId job_id = (*large)->job_id;
  const WaitingLine::JobKind job(**large);
  Sequence* const first = line_.FirstOfOthers(job);
  if (first == nullptr) return;
  const int32_t needed = line_.SlotsForOthers(job, options_.max_sequences);
  while (line_.slot_count(job_id) > fair_slots() && (free_slots() < needed || !HasRoom(*first))) {
    Sequence* const newest = NewestToSpare(job_id);
    if (newest == nullptr) return;
    if (newest->slot_count > newest->least_slots()) {
      --newest->slot_count;
      AddSlots(*newest, -1);
    } else {
      Preempt(*newest, plan);
    }
  }
}

Sequence* Scheduler::NewestToSpare(RequestId job_id) const {
  const auto newest = std::ranges::find(running_.rbegin(), running_.rend(), job_id,
                                        [](const Sequence* each) { return each->job_id; });
  WEFT_CHECK(newest != running_.rend());
  const bool is_only_search =
      (*newest)->beams != nullptr && line_.slot_count(job_id) == (*newest)->least_slots();
  return is_only_search ? nullptr : *newest;
}

void Scheduler::PrepareChunks(StepPlan& plan) {
  // As in PlanDecodes. Nothing is planned yet: whoever is preempted loses no row.
  for (auto it = running_.begin(); it != running_.end(); ++it) {
    Sequence& sequence = **it;
    if (!IsPrompt(&sequence)) continue;
    cache_.AdoptSource(sequence);
    sequence.blocks.EndStateAt(sequence.computed_count);  // covered for a step that had no room
    cache_.Adopt(sequence, cache_.Match(sequence));
    if (!CoverChunk(sequence, plan)) break;
  }
}

bool Scheduler::CoverChunk(Sequence& sequence, StepPlan& plan) {
  while (!sequence.blocks.Cover(sequence.token_count(), AheadOf(sequence))) {
    WEFT_CHECK(running_.size() > 1);  // alone, everybody fits
    Preempt(**running_.rbegin(), plan);
    if (sequence.state != SequenceState::kRunning) return false;
  }
  return true;
}

int32_t Scheduler::AheadOf(const Sequence& sequence) const {
  if (options_.whole_prompts) return sequence.token_count();
  return sequence.computed_count + std::min(sequence.pending_count(), options_.max_batch_tokens);
}

void Scheduler::PlanDecodes(Ground ground, StepPlan& plan, const StepLimit& limit) {
  // Preemption erases only sequences newer than the current one, or it and then the loop is over.
  for (auto it = running_.begin();
       it != running_.end() && plan.row_count < options_.max_batch_tokens; ++it) {
    Sequence& sequence = **it;
    if (GroundOf(sequence) != ground || IsPrompt(&sequence) || sequence.is_parked()) continue;
    if (!HasTimeFor(UnitOf(sequence), plan, limit)) break;
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
  if (sequence.output_count() > 0 && !sequence.is_background()) ++plan.stream_count;
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

StepLimit Scheduler::LimitFor(const StepPlan& plan) {
  constexpr double kMostOverDecoding = 2;  // leaves prompts half of the time
  constexpr double kMostOverNothing = 8;   // leaves them most of it
  StepLimit limit{.rows = options_.max_batch_tokens, .seconds = StepLimit::kUnlimited};
  if (plan.stream_count == 0 && !JobsShareSteps()) return limit;
  cost_.Fit();
  limit.seconds = std::chrono::duration<double>(options_.max_stall).count();
  if (plan.stream_count == 0) {
    if (!cost_.knows_small_steps()) limit.rows = std::min(limit.rows, 2 * ChunkSizer::kTileRows);
    limit.seconds = std::max(limit.seconds, kMostOverNothing * cost_.PredictSeconds({}));
  } else if (cost_.knows_decoding()) {
    limit.seconds = std::max(limit.seconds, kMostOverDecoding * cost_.PredictSeconds(plan.shape));
  }
  return limit;
}

bool Scheduler::JobsShareSteps() const {
  const Sequence* first = nullptr;  // whose prompt is to be computed
  if (!line_.empty() && !line_.IsInBackground()) {
    first = *line_.jobs().begin()->second->waiting.begin();
  }
  for (const Sequence* sequence : running_) {
    if (!IsPrompt(sequence) || sequence->is_background()) continue;
    if (first != nullptr && first->job_id != sequence->job_id) return true;
    first = sequence;
  }
  return first != nullptr && line_.OthersWait(WaitingLine::JobKind(*first));
}

void Scheduler::PlanPrompts(Ground ground, bool may_admit, StepPlan& plan, const StepLimit& limit) {
  // One of each job, then the others.
  JobSet jobs;
  std::vector<Sequence*> others;
  for (Sequence* sequence : running_) {
    if (!IsPrompt(sequence) || GroundOf(*sequence) != ground) continue;
    if (!jobs.insert(sequence->job_id).second) {
      others.push_back(sequence);
    } else if (!PlanPrompt(*sequence, plan, limit)) {
      return;
    }
  }
  if (may_admit) AdmitWaiting(ground, &jobs, plan, limit);
  for (Sequence* sequence : others) {
    if (!PlanPrompt(*sequence, plan, limit)) return;
  }
  if (may_admit) AdmitWaiting(ground, nullptr, plan, limit);
}

bool Scheduler::PlanPrompt(Sequence& sequence, StepPlan& plan, const StepLimit& limit) {
  if (IsComputedFor(sequence, plan)) return true;
  if (!MayTakeSource(sequence, plan, limit)) return false;
  const int32_t row_count =
      chunks_.RowsInTurn(sequence.computed_count, sequence.chunk_end(), plan, limit);
  if (row_count == 0) return false;
  TakeChunk(sequence, row_count, plan);
  if (sequence.needs_source()) TakeSource(sequence, plan);
  return true;
}

bool Scheduler::MayTakeSource(const Sequence& sequence, const StepPlan& plan,
                              const StepLimit& limit) const {
  return !sequence.needs_source() || cache_.HasSource(sequence) ||
         chunks_.HasRoomForSource(sequence.source_count(), plan, limit);
}

void Scheduler::TakeSource(Sequence& sequence, StepPlan& plan) {
  plan.shape.AddChunk(0, sequence.source_count());
  plan.source_row_count += sequence.source_count();
  plan.sequences.back().computes_source = true;
  for (Sequence* each : UnitOf(sequence)) each->source_computed = true;
}

bool Scheduler::IsComputedFor(Sequence& sequence, const StepPlan& plan) {
  return std::ranges::any_of(plan.sequences, [&](const PlannedSequence& planned) {
    return cache_.ComputesFor(*planned.sequence, planned.first_position + planned.row_count,
                              sequence);
  });
}

bool Scheduler::HasRoom(Sequence& sequence) {
  if (sequence.least_slots() > free_slots()) return false;
  bool fits = true;
  for (size_t group = 0; group < pools_.own_count() && fits; ++group) {
    fits = HasBlocks(sequence, group);
  }
  fits = fits && HasSourceBlocks(sequence);
  WEFT_CHECK(fits || !running_.empty());  // alone, everybody fits
  return fits;
}

bool Scheduler::HasBlocks(Sequence& sequence, size_t group) {
  const StateGroup& of = pools_.group(group);
  const int32_t block_size = pools_.block_size();
  int64_t block_count = 0;
  for (Sequence* each : UnitOf(sequence)) {
    block_count += of.MostBlocks(each->token_count(), options_.max_batch_tokens, block_size);
    // Those that others use take no room, as long as it keeps them.
    if (!of.forgets()) block_count -= cache_.CountShared(*each, cache_.Match(*each), group);
  }
  for (const Sequence* each : running_) {
    if (!of.forgets()) {
      ++block_count;  // it has the others
      continue;
    }
    const int64_t most =
        of.MostBlocks(each->token_count() + block_size,
                      std::min(each->pending_count(), options_.max_batch_tokens), block_size);
    block_count += std::max<int64_t>(most - each->blocks.of(group).held_count(), 0);
  }
  return pools_[group].free_count() >= block_count;
}

bool Scheduler::HasSourceBlocks(const Sequence& sequence) const {
  if (sequence.source.empty()) return true;
  // Those that run have all of theirs.
  const int32_t needed =
      CeilDivide(sequence.source_count(), pools_.block_size()) - cache_.CountSharedSource(sequence);
  return pools_[pools_.source_group()].free_count() >= needed;
}

void Scheduler::AdmitWaiting(Ground ground, JobSet* passed_over, StepPlan& plan,
                             const StepLimit& limit) {
  while (Sequence* const next = NextInLine(passed_over)) {
    if (GroundOf(*next) != ground || !Admit(*next, plan, limit)) return;
    if (passed_over != nullptr) passed_over->insert(next->job_id);
  }
}

Sequence* Scheduler::NextInLine(const JobSet* passed_over) {
  Sequence* blocked = nullptr;  // the next, where others may overtake it
  for (const auto& [place, job] : line_.jobs()) {
    Sequence& oldest = **job->waiting.begin();
    if (oldest.is_background() && !line_.IsInBackground()) break;
    if (passed_over != nullptr && passed_over->contains(oldest.job_id)) continue;
    if (!MayHold(oldest, oldest.least_slots())) continue;
    if (blocked == nullptr) {
      const bool lets_pass = IsWide(oldest) && line_.OthersWait(WaitingLine::JobKind(oldest));
      if (oldest.least_slots() <= free_slots() && !lets_pass) return &oldest;
      blocked = &oldest;
      if (!blocked->last_to_overtake) blocked->last_to_overtake = newest_arrival_;
      if (free_slots() == 0) return nullptr;
    } else if (job->slot_count == 0 && oldest.age.arrival <= *blocked->last_to_overtake &&
               oldest.least_slots() <= free_slots() && !IsWide(oldest)) {
      return &oldest;
    }
  }
  // Those that waited have had theirs.
  const bool fits = blocked != nullptr && blocked->least_slots() <= free_slots();
  return fits ? blocked : nullptr;
}

bool Scheduler::MayHold(const Sequence& sequence, int32_t slot_count) const {
  const int32_t held = line_.slot_count(sequence.job_id);
  return held == 0 || held + slot_count <= fair_slots() ||
         !line_.OthersWait(WaitingLine::JobKind(sequence));
}

bool Scheduler::Admit(Sequence& sequence, StepPlan& plan, const StepLimit& limit) {
  if (!HasRoom(sequence) || !MayTakeSource(sequence, plan, limit)) return false;
  if (chunks_.RowsInTurn(cache_.Match(sequence), sequence.chunk_end(), plan, limit) == 0)
    return false;
  const int32_t slot_count = SlotsFor(sequence);
  line_.Erase(sequence);
  sequence.last_to_overtake.reset();
  bool has_rows = true;
  const std::vector<Sequence*> unit = UnitOf(sequence);
  CoverSources(unit);
  for (Sequence* each : unit) {
    const int32_t matched = cache_.Match(*each);
    if (each->reached_count == 0) NoteFound(*each, matched);
    cache_.Adopt(*each, matched);
    WEFT_CHECK(each->blocks.Cover(each->token_count(), AheadOf(*each)));
    Run(*each, each->has_siblings() ? 1 : slot_count);
    has_rows = has_rows && PlanPrompt(*each, plan, limit);
  }
  return true;
}

void Scheduler::NoteFound(Sequence& sequence, int32_t matched) const {
  sequence.found_count =
      sequence.last_found_block ? (*sequence.last_found_block + 1) * pools_.block_size() : matched;
}

void Scheduler::CoverSources(const std::vector<Sequence*>& unit) {
  Sequence& first = *unit.front();
  if (!first.needs_source()) return;
  if (!cache_.AdoptSource(first)) WEFT_CHECK(first.blocks.CoverSource(first.source_count()));
  for (Sequence* each : std::span(unit).subspan(1)) {
    each->blocks.ShareSource(first.blocks);
    each->source_computed = first.source_computed;
  }
}

int32_t Scheduler::SlotsFor(const Sequence& sequence) const {
  const int32_t least = sequence.least_slots();
  if (sequence.beams != nullptr) return least;
  const int32_t free =
      free_slots() - line_.SlotsForOthers(WaitingLine::JobKind(sequence), free_slots());
  const int32_t fair = line_.OthersWait(WaitingLine::JobKind(sequence))
                           ? fair_slots() - line_.slot_count(sequence.job_id)
                           : options_.max_sequences;
  return std::clamp(std::min(free, fair), least, least + sequence.awaiting_count);
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
  while (!sequence.blocks.Secure(sequence.computed_count, plan.copies)) {
    Sequence& newest = **running_.rbegin();
    WEFT_CHECK(running_.size() > 1);  // alone, everybody fits
    Preempt(newest, plan);
    if (sequence.state != SequenceState::kRunning) return false;
  }
  return true;
}

void Scheduler::Preempt(Sequence& sequence, StepPlan& plan) {
  const std::vector<Sequence*> unit = UnitOf(sequence);
  for (Sequence* each : unit) {
    Stop(*each);
    each->blocks.Clear();
    each->kept_logits = {};
    each->reached_count = std::max(each->reached_count, each->computed_count);
    each->computed_count = 0;
    each->source_computed = false;
    each->state = SequenceState::kWaiting;
    ++plan.preemptions;
  }
  line_.Insert(*unit.front());
}

void Scheduler::Commit(const StepPlan& plan) {
  for (const PlannedSequence& planned : plan.sequences) {
    WEFT_CHECK(planned.sequence->computed_count == planned.first_position);
    planned.sequence->computed_count += planned.row_count;
    cache_.Keep(*planned.sequence, planned.first_position);
    if (planned.computes_source) cache_.KeepSource(*planned.sequence);
    planned.sequence->blocks.Forget(planned.sequence->computed_count);
    cache_.DropPassingStates(*planned.sequence);
  }
}

void Scheduler::Learn(const StepPlan& plan, std::chrono::nanoseconds duration) {
  cost_.Observe(plan.shape, duration);
}

void Scheduler::Fork(Sequence& from, Sequence& to) {
  WEFT_CHECK(from.state == SequenceState::kRunning && from.pending_count() == 0);
  const bool begins = to.state == SequenceState::kAwaitingPrompt;
  WEFT_CHECK(begins ? from.awaiting_count > 0 : to.state == SequenceState::kRunning);
  to.tokens = from.tokens;
  to.block_digests = from.block_digests;
  to.source_digests = from.source_digests;
  to.cache_salt = from.cache_salt;
  to.passing_states.clear();
  to.prompt_count = from.prompt_count;
  to.next_prompt_logprob = to.prompt_count;
  if (begins) --from.awaiting_count;
  if (begins && from.slot_count == 1) {
    to.state = SequenceState::kWaiting;
    line_.Insert(to);
    return;
  }
  to.computed_count = from.computed_count;
  to.blocks = from.blocks.Share();
  to.source_computed = from.source_computed;
  if (!begins) return;
  --from.slot_count;
  AddSlots(from, -1);
  Run(to, 1);
}

}  // namespace weft
