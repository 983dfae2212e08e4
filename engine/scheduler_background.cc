// What the scheduler leaves to requests in the background.
#include <algorithm>
#include <chrono>

#include "engine/scheduler.h"

namespace weft {

void Scheduler::YieldToForeground(StepPlan& plan) {
  if (line_.empty() || line_.IsInBackground()) return;
  Sequence& next = **line_.jobs().begin()->second->waiting.begin();
  while (!running_.empty() && (*running_.rbegin())->is_background() && !HasRoom(next)) {
    Preempt(**running_.rbegin(), plan);
  }
}

void Scheduler::FillBackground(bool lacks_blocks, StepPlan& plan) {
  const bool is_running = !running_.empty() && (*running_.rbegin())->is_background();
  const bool is_full = plan.row_count == options_.max_batch_tokens;
  if (is_full || (!is_running && !line_.IsInBackground())) return;
  const std::optional<StepLimit> limit = BackgroundLimit(plan);
  if (!limit) {
    if (plan.row_count > 0) share_.Note(plan, 0, /*has_rows=*/false);
    return;
  }
  const int32_t row_count = plan.row_count;
  const int32_t preemptions = plan.preemptions;
  const double others_seconds = cost_.PredictSeconds(plan.shape);
  PlanDecodes(Ground::kBack, plan, *limit);
  // What rows of prompts cost must be known, where somebody would feel it.
  if (plan.shape.chunk_rows < limit->chunk_rows) {
    const bool may_admit =
        !lacks_blocks && plan.preemptions == preemptions && line_.IsInBackground();
    PlanPrompts(Ground::kBack, may_admit, plan, *limit);
    chunks_.Extend(plan, *limit);
    if (!limit->is_spare) chunks_.Probe(plan, *limit);
  }
  const bool has_rows = plan.row_count > row_count;
  if (has_rows) plan.predicted_seconds = cost_.PredictSeconds(plan.shape);
  if (limit->is_spare) share_.Note(plan, others_seconds, has_rows);
}

std::optional<StepLimit> Scheduler::BackgroundLimit(const StepPlan& plan) {
  constexpr double kMostOverFixed = 2;  // where nothing at all takes longer than max_stall
  cost_.Fit();
  if (plan.row_count > 0) {
    const bool knows_cost = cost_.knows_decoding() || share_.is_due();
    if (cost_.PredictSeconds(plan.shape) <= 0 || !knows_cost) return std::nullopt;
    return share_.Limit(plan, cost_);
  }
  const bool foreground_is_parked = !running_.empty() && !(*running_.begin())->is_background();
  if (foreground_is_parked) return std::nullopt;
  StepLimit limit{.rows = options_.max_batch_tokens, .seconds = 0};
  if (!cost_.knows_small_steps()) limit.rows = std::min(limit.rows, 2 * ChunkSizer::kTileRows);
  limit.seconds = std::max(std::chrono::duration<double>(options_.max_stall).count(),
                           kMostOverFixed * cost_.PredictSeconds({}));
  return limit;
}

bool Scheduler::HasTimeFor(const std::vector<Sequence*>& decoding, const StepPlan& plan,
                           const StepLimit& limit) const {
  if (!limit.has_seconds() || plan.row_count == 0) return true;  // something is always computed
  if (plan.row_count + std::ssize(decoding) <= limit.granted_rows) return true;
  StepShape shape = plan.shape;
  for (const Sequence* sequence : decoding) shape.AddDecode(sequence->computed_count);
  return cost_.PredictSeconds(shape) <= limit.seconds;
}

}  // namespace weft
