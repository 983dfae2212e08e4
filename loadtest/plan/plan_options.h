// The options of a load test that say what is sent, and when.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "loadtest/plan/arrivals.h"
#include "loadtest/plan/load_plan.h"
#include "loadtest/plan/workload.h"

namespace CLI {
class App;
}

namespace weft {

struct PlanOptions {
  // When. With neither rate nor concurrency: kDefaultConcurrency users.
  std::optional<double> rate;          // open loop: requests a second
  std::optional<int32_t> concurrency;  // closed loop: users
  ArrivalProcess arrivals = ArrivalProcess::kPoisson;
  std::optional<double> burstiness;  // implies kGamma
  std::chrono::nanoseconds ramp{0};
  // How much: whichever ends first; kDefaultRequestCount if neither is stated.
  std::optional<int32_t> request_count;
  std::chrono::nanoseconds duration{0};  // 0: no limit

  // What.
  Workload workload;
  int32_t vocabulary_size = 0;  // of prompts as token ids; 0: prompts are text
  uint64_t seed = 0;
};

inline constexpr int32_t kDefaultConcurrency = 8;
inline constexpr int32_t kDefaultRequestCount = 200;
inline constexpr double kDefaultBurstiness = 0.25;

// Options that cannot be parsed fail with CLI::ValidationError. `options` outlives the parsing.
void AddPlanOptions(CLI::App& app, PlanOptions& options);

// A function of the options alone: the same plan on every machine. Errors name the option, or the
// file and line, what was found and what was expected.
Result<LoadPlan> MakePlan(const PlanOptions& options);

}  // namespace weft
