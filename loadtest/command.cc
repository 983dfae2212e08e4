#include "loadtest/command.h"

#include <cstdio>
#include <string>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "loadtest/plan/plan_options.h"
#include "loadtest/report/json_report.h"
#include "loadtest/report/load_report.h"
#include "loadtest/report/table_report.h"
#include "loadtest/run/load_runner.h"
#include "loadtest/run/run_options.h"

namespace weft {
namespace {

constexpr int kUsageError = 2;

int Fault(const std::string& message) {
  std::fprintf(stderr, "weft loadtest: %s\n", message.c_str());
  return 1;
}

}  // namespace

int LoadtestCommand(int argc, const char* const* argv) {
  CLI::App app("Drives an OpenAI-compatible server and reports throughput and latencies.",
               "weft loadtest");
  PlanOptions plan_options;
  RunOptions run_options;
  bool json = false;
  AddPlanOptions(app, plan_options);
  AddRunOptions(app, run_options);
  app.add_flag("--json", json, "The report as one line of JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "weft loadtest: %s\n", error.what());
    return kUsageError;
  }

  const Result<LoadPlan> plan = MakePlan(plan_options);
  if (!plan) return Fault(plan.error().message);
  const Result<LoadRun> run = RunPlan(*plan, run_options);
  if (!run) return Fault(run.error().message);
  const ReportGoals goals;
  const LoadReport report = MakeLoadReport(*run, *plan, "", goals);
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  const std::string text = json ? JsonReport(report) : TableReport(report, is_terminal);
  std::fputs(text.c_str(), stdout);
  return report.faults.empty() ? 0 : 1;
}

}  // namespace weft
