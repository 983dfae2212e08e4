#include "engine/background_share.h"

#include <algorithm>

namespace weft {

StepLimit BackgroundShare::Limit(const StepPlan& plan, const StepCostModel& cost) const {
  constexpr double kShare = 0.03;
  const double seconds = cost.PredictSeconds(plan.shape);
  StepLimit limit{.rows = max_rows_, .seconds = (1 + kShare) * seconds, .is_spare = true};
  limit.chunk_rows = 2 * cost.chunk_rows_of_late();
  if (!is_due()) return limit;
  const bool has_streams = plan.stream_count > 0;
  const double usual_s =
      has_streams ? std::min(std::ranges::max(longest_s_), max_stall_s_) : max_stall_s_;
  limit.seconds = std::max(limit.seconds, std::min(usual_s, (1 + kRareSteps * kShare) * seconds));
  limit.granted_rows = plan.row_count + 1;
  limit.chunk_rows = std::max(2 * cost.chunk_rows_of_late(kLateSteps), plan.shape.chunk_rows + 1);
  return limit;
}

void BackgroundShare::Note(const StepPlan& plan, double others_seconds, bool has_rows) {
  waited_steps_ = has_rows ? 0 : waited_steps_ + 1;
  if (plan.stream_count > 0) longest_s_[0] = std::max(longest_s_[0], others_seconds);
  if (++noted_count_ % kLateSteps == 0) longest_s_ = {0, longest_s_[0]};
}

}  // namespace weft
