// A server under rising load: where it saturates, and the highest load at which it keeps the
// objectives. The measuring itself is the caller's, so that the search is tested without a server.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "loadtest/report/load_report.h"

namespace weft {

struct SweepOptions {
  bool open_loop = false;     // loads are requests a second; otherwise users, which are whole
  std::vector<double> loads;  // empty: found by doubling from first_load, or halving from it
  double first_load = 1;
  double least_load = 1;   // of halving
  double max_load = 4096;  // is tried last; of users: whole
  int32_t repeats = 3;
  bool seek_objectives = false;  // the runs have objectives: find the highest load that keeps them
};

// One run at a load; `repeat` counts from 0. An error ends the sweep.
using MeasureFunction = std::function<Result<LoadReport>(double load, int32_t repeat)>;

struct SweepStep {
  double load = 0;
  std::vector<LoadReport> runs;
};

struct SweepResult {
  std::vector<SweepStep> steps;  // by load
  // The saturation knee: the lowest load whose throughput (ThroughputOf, mean of the
  // repeats) is at least kSaturatedShare of the highest that was measured. Nothing: the throughput
  // still grew at the highest load with a valid run.
  std::optional<double> knee;
  // The highest load that keeps the objectives, found by bisection to kPrecision; every lower one
  // measured keeps them too. Nothing: not even the lowest does.
  std::optional<double> highest_kept;
  // Whether a higher load was seen to miss them: otherwise the sweep ended too early.
  bool limit_found = false;
  bool interrupted = false;
};

inline constexpr double kSaturatedShare = 0.95;
inline constexpr double kPrecision = 0.05;  // of the load, at which bisections end
inline constexpr int32_t kMostBisections = 8;

// A load keeps the objectives if more than half of its runs are a success by themselves: valid, no
// more failures than are allowed (latencies are of successes alone), all objectives met. The
// doubling ends when the throughput grows by less than 1 - kSaturatedShare, the objectives are
// missed, most requests fail, or no run is valid. Where the first load misses the objectives, or
// saturates the server, it is halved. Runs that are invalid are in no figure.
Result<SweepResult> RunSweep(const SweepOptions& options, const MeasureFunction& measure);

bool KeepsObjectives(const SweepStep& step);
bool HasValidRun(const SweepStep& step);
int64_t InvalidRunCount(const SweepResult& result);
// Of those.
int64_t BottleneckRunCount(const SweepResult& result);

// Not if it was interrupted, no load keeps the objectives, or a run was invalid or had a wrong
// output. Failures under too much load are figures like any other.
bool IsSuccess(const SweepResult& result, const SweepOptions& options);

// "1,2,4", all above 0, increasing.
Result<std::vector<double>> ParseLoads(std::string_view text, bool whole);

}  // namespace weft
