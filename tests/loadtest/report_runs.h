// Reports of runs that nobody has measured.
#pragma once

#include <string>

#include "loadtest/report/load_report.h"

namespace weft {

// A run with a throughput and one latency throughout.
inline LoadReport RunOf(double tokens_per_s, double ttft_ms, const std::string& objectives = "") {
  LoadReport report;
  report.url = "http://h:1";
  report.summary.duration_s = 10;
  GroupSummary& all = report.summary.all;
  all.succeeded = 100;
  all.output_tokens_per_s = tokens_per_s;
  all.latencies[Metric::kFirstToken] = Summarize({ttft_ms});
  if (!objectives.empty()) {
    ReportGoals goals;
    goals.objectives = ParseObjectives(objectives).value();
    report.objectives = CheckObjectives(goals.objectives, all);
    report.faults = FaultsOf(report, goals);
  }
  return report;
}

}  // namespace weft
