// One load test from its options to its figures.
#pragma once

#include "base/result.h"
#include "loadtest/plan/plan_options.h"
#include "loadtest/report/load_report.h"
#include "loadtest/run/run_options.h"

namespace CLI {
class App;
}

namespace weft {

struct LoadTest {
  PlanOptions plan;
  RunOptions run;
  ReportGoals goals;
};

// "--slo", "--goodput" and "--max-error-rate".
void AddGoalOptions(CLI::App& app, ReportGoals& goals);

// All options of one load test, in groups.
void AddLoadTestOptions(CLI::App& app, LoadTest& test);

struct LoadTestResult {
  LoadPlan plan;
  LoadRun run;
  LoadReport report;
};

// As MakePlan and RunPlan.
Result<LoadTestResult> RunLoadTest(const LoadTest& test);

// The exit statuses that all of `weft loadtest` has in common.
inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kUsageError = 2;

// Nothing: the arguments are right, go on. Otherwise the exit status: help was printed, or what is
// wrong, in a line on stderr.
std::optional<int> ParseArguments(CLI::App& app, int argc, const char* const* argv);

// Prints the error on stderr; kUsageError if it is about the arguments, else kFailure.
int PrintError(const CLI::App& app, const Error& error);

}  // namespace weft
