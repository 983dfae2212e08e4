// Everything that the reports of one run say, in any form.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "loadtest/report/objectives.h"
#include "loadtest/report/summary.h"

namespace weft {

// Why a run is no success.
enum class FaultKind {
  kInvalidRun,  // the figures are not the server's: see ClientHealth
  kInterrupted,
  kWrongOutput,
  kFailedRequests,  // more than are allowed
  kObjectiveMissed,
};
struct Fault {
  FaultKind kind = FaultKind::kInvalidRun;
  std::string text;  // a line
};

struct LoadReport {
  std::string url;
  std::string model;
  std::string server;  // empty: it does not say
  std::chrono::system_clock::time_point date;
  std::string plan;  // a line or more for people
  LoadSummary summary;
  std::vector<ObjectiveResult> objectives;
  std::optional<Goodput> goodput;
  std::vector<Fault> faults;  // at most one of a kind; empty: the run is a success
};

// What the caller asks of the figures.
struct ReportGoals {
  std::vector<Objective> objectives;
  std::vector<RequestLimit> request_limits;
  // Nothing: what an objective about the error rate allows, else 0.
  std::optional<double> max_error_rate;
};

// Of a report that has all but its faults.
std::vector<Fault> FaultsOf(const LoadReport& report, const ReportGoals& goals);

LoadReport MakeLoadReport(const LoadRun& run, const LoadPlan& plan, std::string plan_description,
                          const ReportGoals& goals);

}  // namespace weft
