// From the requests of a load test to the figures of its report.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadtest/plan/load_plan.h"
#include "loadtest/report/latency.h"
#include "loadtest/run/load_run.h"

namespace weft {

struct FailureCount {
  int64_t count = 0;
  std::string example;  // the detail of the first one that has one
};

// Of all requests, or of one profile's.
struct GroupSummary {
  int64_t succeeded = 0;
  int64_t failed = 0;
  int64_t hostile = 0;
  std::map<std::string, FailureCount> failures;  // by kind

  // Of the requests that succeeded, as is all that follows.
  std::optional<int64_t> prompt_tokens;  // as the server counts; nothing: it does not
  std::optional<int64_t> cached_tokens;
  int64_t output_tokens = 0;
  int64_t texts = 0;                          // that got a vector or a score
  double requests_per_s = 0;                  // over LoadSummary::duration_s
  std::optional<double> prompt_tokens_per_s;  // as prompt_tokens
  double output_tokens_per_s = 0;
  double texts_per_s = 0;
  Latencies latencies;
  std::map<std::string, int64_t> finish_reasons;

  // Failures among the requests that were to succeed; 0 if there are none.
  double error_rate() const;
};

// The part of a run in which the load was on: from the end of the ramp to the last sending. Before
// it the server is not yet loaded, after it not any more.
struct SteadyState {
  double begin_s = 0;  // since the first sending
  double end_s = 0;    // not after begin_s: the run has no such part
  double requests_per_s = 0;
  double output_tokens_per_s = 0;  // that arrived in it, whenever their requests began or ended
  double texts_per_s = 0;          // of requests that ended in it

  bool exists() const { return end_s > begin_s; }
};

struct ProfileSummary {
  std::string name;
  GroupSummary figures;
};

struct LoadSummary {
  // Where text is generated, the throughput is in output tokens, otherwise in texts.
  bool generates = true;
  double duration_s = 0;  // from the first sending to the last end
  GroupSummary all;
  SteadyState steady;
  std::vector<ProfileSummary> profiles;  // if there are several
  std::map<std::string, int64_t>
      hostile;                // outcomes of the hostile requests: "malformed: http 400"
  double mean_in_flight = 0;  // requests that the server had
  int64_t peak_in_flight = 0;

  bool interrupted = false;
  ClientHealth client;
  int64_t verified_count = 0;
  int64_t mismatch_count = 0;
};

// What a run's throughput is counted in, and how much of it there is in a second, of whatever has
// both figures.
inline std::string_view OutputUnit(bool generates) {
  return generates ? "output tokens/s" : "texts/s";
}
template <typename T>
double OutputPerSecond(const T& figures, bool generates) {
  return generates ? figures.output_tokens_per_s : figures.texts_per_s;
}

LoadSummary Summarize(const LoadRun& run, const LoadPlan& plan);

}  // namespace weft
