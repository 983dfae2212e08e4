// What requests in the background get of steps that have rows of others. Used by the scheduler.
//
// Such a step becomes 3% longer at most, by what is known of its cost. Where the background has
// waited for 512 of them, because not even a row fits or nobody knows what one costs, it gets more
// of the next: a row in any case, and as many as make it no longer than streams have waited of late
// for others, than `max_stall`, and than 3% of all those steps come to. So the background never
// stands still; of a thousand gaps between a stream's tokens two are longer for it, too few to be
// seen in the worst of a hundred, and the longest of them hardly.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "engine/chunk_sizer.h"
#include "engine/step_cost.h"
#include "engine/step_plan.h"

namespace weft {

class BackgroundShare {
 public:
  BackgroundShare(int32_t max_rows, std::chrono::nanoseconds max_stall)
      : max_rows_(max_rows), max_stall_s_(std::chrono::duration<double>(max_stall).count()) {}

  // What a step may hold as a whole that so far has the others' rows. Of prompts no more rows than
  // twice as many as steps had of late: what they cost is learned with few.
  StepLimit Limit(const StepPlan& plan, const StepCostModel& cost) const;
  // A step in which somebody in the background could have had rows, and has some or not. The
  // others' rows alone take so long, as far as is known.
  void Note(const StepPlan& plan, double others_seconds, bool has_rows);
  // Whether it has waited for long.
  bool is_due() const { return waited_steps_ >= kRareSteps; }

 private:
  static constexpr int32_t kRareSteps = 512;
  static constexpr int64_t kLateSteps = 2048;

  const int32_t max_rows_;
  const double max_stall_s_;
  int32_t waited_steps_ = 0;
  int64_t noted_count_ = 0;
  // Of steps with streams, in this span of kLateSteps and in the one before.
  std::array<double, 2> longest_s_ = {};
};

}  // namespace weft
