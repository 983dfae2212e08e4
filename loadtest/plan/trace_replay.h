// Recorded traffic as requests of a plan.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "loadtest/plan/load_plan.h"
#include "loadtest/plan/plan_options.h"

namespace weft {

// The requests of the piece of options.trace that is asked for, scaled, with their times in it;
// what was left out is noted in `plan`. From 1 to `limit`, which is positive.
Result<std::vector<PlannedRequest>> ReplayTrace(const PlanOptions& options, size_t limit,
                                                LoadPlan& plan);

}  // namespace weft
