// Everything that the reports of one run say, in any form.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "loadtest/report/objectives.h"
#include "loadtest/report/summary.h"

namespace weft {

struct LoadReport {
  std::string url;
  std::string model;
  std::string server;  // empty: it does not say
  std::chrono::system_clock::time_point date;
  std::string plan;  // a line or more for people
  LoadSummary summary;
  std::vector<ObjectiveResult> objectives;
  std::optional<Goodput> goodput;
  // Why the run is no success, a line each: invalid, interrupted, wrong output, too many failures,
  // objectives missed. Empty: it is one.
  std::vector<std::string> faults;
};

// What the caller asks of the figures.
struct ReportGoals {
  std::vector<Objective> objectives;
  std::vector<RequestLimit> request_limits;
  double max_error_rate = 0;
};

LoadReport MakeLoadReport(const LoadRun& run, const LoadPlan& plan, std::string plan_description,
                          const ReportGoals& goals);

}  // namespace weft
