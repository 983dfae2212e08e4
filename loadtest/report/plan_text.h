// A plan in a line, with its notes, for the head of reports.
#pragma once

#include <string>

#include "loadtest/plan/load_plan.h"
#include "loadtest/run/run_options.h"

namespace weft {

// "8 users at a time; 200 requests, prompts of 64 tokens, answers of at most 64", as the endpoint
// of the run reads it.
std::string PlanText(const LoadPlan& plan, const RunOptions& run = {});

}  // namespace weft
