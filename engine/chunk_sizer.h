// How many rows of prompts a step takes, by what it may hold and by what it is predicted to cost.
#pragma once

#include <cstdint>
#include <limits>

#include "engine/step_cost.h"
#include "engine/step_plan.h"

namespace weft {

// What a step may hold, its decode rows included.
struct StepLimit {
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

  int32_t rows = 0;
  double seconds = 0;
  bool is_spare = false;     // what others leave: nobody gets rows that do not fit
  int32_t granted_rows = 0;  // so many the step may have, whatever they take
  int32_t chunk_rows = std::numeric_limits<int32_t>::max();  // of prompts; all of `rows` besides
  bool has_seconds() const { return seconds < kUnlimited; }
};

// Looks at the plan of a step as far as it has come. Used by the scheduler; the cost model outlives
// it.
class ChunkSizer {
 public:
  // What the kernels compute at once: a step that is cut to the time ends with a full tile.
  static constexpr int32_t kTileRows = 16;

  // `whole_prompts`: see SchedulerOptions.
  ChunkSizer(const StepCostModel& cost, bool whole_prompts)
      : cost_(cost), whole_prompts_(whole_prompts) {}

  // The rows that a prompt gets in its turn, of those that it still has; 0: the step is full. Of
  // whole prompts all or none.
  int32_t RowsInTurn(int32_t first_position, int32_t end_position, const StepPlan& plan,
                     const StepLimit& limit) const;
  // Whether a source of so many positions may join the step. The first one may in any case.
  bool HasRoomForSource(int32_t position_count, const StepPlan& plan, const StepLimit& limit) const;
  // Gives the rows that its turn did not bring to those that could use them, oldest first.
  void Extend(StepPlan& plan, const StepLimit& limit) const;
  // Now and then a tile more than is predicted to fit, where there is some time left: a scheduler
  // that thinks larger chunks too slow would otherwise never learn that they no longer are.
  void Probe(StepPlan& plan, const StepLimit& limit) const;

 private:
  // The most rows, beginning at this position, that keep the step within the limit.
  int32_t RowsWithin(const StepPlan& plan, const StepLimit& limit, int32_t first_position,
                     int32_t pending_count) const;

  const StepCostModel& cost_;
  const bool whole_prompts_;
};

}  // namespace weft
