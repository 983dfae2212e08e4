#include "loadtest/report/load_report.h"

#include <utility>

#include <fmt/format.h>

#include "loadtest/report/format.h"

namespace weft {

namespace {

double MaxErrorRate(const ReportGoals& goals) {
  if (goals.max_error_rate) return *goals.max_error_rate;
  double most = 0;
  for (const Objective& objective : goals.objectives) {
    if (!objective.metric) most = objective.limit;
  }
  return most;
}

}  // namespace

std::vector<Fault> FaultsOf(const LoadReport& report, const ReportGoals& goals) {
  std::vector<Fault> faults;
  const LoadSummary& summary = report.summary;
  const auto add = [&faults](FaultKind kind, std::string text) {
    faults.push_back({kind, std::move(text)});
  };
  if (!summary.client.invalid.empty()) {
    add(FaultKind::kInvalidRun,
        fmt::format("invalid, {}: {}", BlameOf(summary.client), summary.client.invalid));
  }
  if (summary.interrupted) add(FaultKind::kInterrupted, "interrupted");
  if (summary.mismatch_count > 0) {
    add(FaultKind::kWrongOutput,
        fmt::format("wrong output: {} of {} differ from the same request alone",
                    summary.mismatch_count, summary.verified_count));
  }
  if (summary.all.error_rate() > MaxErrorRate(goals)) {
    add(FaultKind::kFailedRequests,
        fmt::format("{} of {} requests failed", FormatCount(summary.all.failed),
                    FormatCount(summary.all.failed + summary.all.succeeded)));
  }
  std::string missed;
  for (const ObjectiveResult& result : report.objectives) {
    if (!result.met) missed += (missed.empty() ? "" : "; ") + DescribeObjective(result);
  }
  if (!missed.empty()) add(FaultKind::kObjectiveMissed, "objective missed: " + missed);
  return faults;
}

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
  report.faults = FaultsOf(report, goals);
  return report;
}

}  // namespace weft
