#include "loadtest/report/load_report.h"

#include <utility>

#include <fmt/format.h>

#include "loadtest/report/format.h"

namespace weft {

namespace {

std::vector<std::string> Faults(const LoadReport& report, double max_error_rate) {
  std::vector<std::string> faults;
  const LoadSummary& summary = report.summary;
  if (!summary.client.invalid.empty()) {
    faults.push_back("invalid, the client was the bottleneck: " + summary.client.invalid);
  }
  if (summary.interrupted) faults.emplace_back("interrupted");
  if (summary.mismatch_count > 0) {
    faults.push_back(fmt::format("wrong output: {} of {} differ from the same request alone",
                                 summary.mismatch_count, summary.verified_count));
  }
  if (summary.all.error_rate() > max_error_rate) {
    faults.push_back(fmt::format("{} of {} requests failed", FormatCount(summary.all.failed),
                                 FormatCount(summary.all.failed + summary.all.succeeded)));
  }
  std::string missed;
  for (const ObjectiveResult& result : report.objectives) {
    if (!result.met) missed += (missed.empty() ? "" : "; ") + DescribeObjective(result);
  }
  if (!missed.empty()) faults.push_back("objective missed: " + missed);
  return faults;
}

}  // namespace

LoadReport MakeLoadReport(const LoadRun& run, const LoadPlan& plan, std::string plan_description,
                          const ReportGoals& goals) {
  LoadReport report;
  report.url = run.url;
  report.model = run.model;
  report.server = run.server;
  report.date = run.date;
  report.plan = std::move(plan_description);
  report.summary = Summarize(run, plan);
  report.objectives = CheckObjectives(goals.objectives, report.summary.all);
  if (!goals.request_limits.empty()) {
    report.goodput = CountGoodput(goals.request_limits, run, report.summary);
  }
  report.faults = Faults(report, goals.max_error_rate);
  return report;
}

}  // namespace weft
