// The options of a load test that say what is sent, and when.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "loadtest/plan/arrivals.h"
#include "loadtest/plan/hostile.h"
#include "loadtest/plan/load_plan.h"
#include "loadtest/plan/workload.h"

namespace CLI {
class App;
}

namespace weft {

struct TraceOptions {
  std::string path;       // empty: none
  double time_scale = 1;  // of times, below 1: faster
  double length_scale = 1;
  std::chrono::nanoseconds begin{0};  // the piece of it that is replayed, in the trace's own time
  std::chrono::nanoseconds duration{0};  // 0: to its end
};

struct PlanOptions {
  // When. With neither rate nor concurrency: at a trace's times, else kDefaultConcurrency users.
  std::optional<double> rate;              // open loop: requests a second
  std::optional<int32_t> concurrency;      // closed loop: users
  std::optional<ArrivalProcess> arrivals;  // of a rate: kPoisson unless stated
  std::optional<double> burstiness;        // of a rate: implies kGamma
  std::chrono::nanoseconds ramp{0};
  // How much: whichever ends first. If neither is stated, all of a trace or file of prompts, else
  // kDefaultRequestCount.
  std::optional<int32_t> request_count;
  std::chrono::nanoseconds duration{0};  // 0: no limit

  // What: the requests of a trace, or a mix of profiles, or `workload` alone.
  Workload workload;                  // and what profiles do not state
  std::vector<std::string> profiles;  // as ParseProfile reads them
  TraceOptions trace;
  HostileMix hostile;
  int32_t max_prompt_tokens = kMaxLength;  // drawn lengths are cut, longer ones of a trace left out
  int32_t vocabulary_size = 0;             // of prompts as token ids; 0: prompts are text
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
