// What a server is to achieve: objectives of a whole run, and of each of its requests.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "loadtest/report/summary.h"

namespace weft {

// A figure of a run and its limit: at most.
struct Objective {
  std::optional<Metric> metric;  // none: the error rate
  double Distribution::*statistic = nullptr;
  double limit = 0;  // milliseconds, or a share
  std::string name;  // "ttft_p99", "error_rate"
};

// "ttft_p99=500ms,itl_mean=40ms,e2e_p95=2s,error_rate=1%": METRIC_STATISTIC=TIME, where METRIC is a
// key of kMetrics and STATISTIC one of mean, p50, p90, p95, p99, p99.9, max; TIME is as
// ParseDuration reads it, with a unit.
Result<std::vector<Objective>> ParseObjectives(std::string_view text);

struct ObjectiveResult {
  Objective objective;
  std::optional<double> measured;  // nothing, which is no success: no sample
  bool met = false;
};

std::vector<ObjectiveResult> CheckObjectives(const std::vector<Objective>& objectives,
                                             const GroupSummary& figures);

// Goodput (Zhong et al., DistServe, 2024): the rate of requests that meet every limit.
struct RequestLimit {
  Metric metric = Metric::kFirstToken;
  double limit_ms = 0;
};

// "ttft=500ms,tpot=50ms": any metric that a request has one of.
Result<std::vector<RequestLimit>> ParseRequestLimits(std::string_view text);

struct Goodput {
  std::vector<RequestLimit> limits;
  int64_t met_count = 0;
  double share = 0;           // of the requests that succeeded or failed
  double requests_per_s = 0;  // over the run's duration
};

// A request without the figure that a limit is about does not meet it, except that one token has no
// time per output token to be too long.
Goodput CountGoodput(const std::vector<RequestLimit>& limits, const LoadRun& run,
                     const LoadSummary& summary);

}  // namespace weft
