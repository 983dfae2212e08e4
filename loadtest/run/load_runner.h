// Carries out a load plan: open loop, or a closed loop of users; one thread drives everything.
#pragma once

#include "base/result.h"
#include "loadtest/plan/load_plan.h"
#include "loadtest/run/load_run.h"
#include "loadtest/run/run_options.h"

namespace weft {

// Runs on the calling thread until every request of the plan has ended or SIGINT has arrived, which
// ends the sending at once and the run within a second. Requests that fail are records like any
// other; an error means that nothing was run: the options contradict each other, the server cannot
// be found, or no model was named and it lists none. Raises the process's limit of open files to
// what it may be.
Result<LoadRun> RunPlan(const LoadPlan& plan, const RunOptions& options);

}  // namespace weft
