// Watches the load generator itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "loadtest/run/load_run.h"
#include "loadtest/run/run_options.h"

namespace weft {

class HealthMonitor {
 public:
  using Clock = std::chrono::steady_clock;

  // From now on, of the calling thread.
  HealthMonitor();

  // How late the client was for a request that had a time.
  void AddSendLag(Clock::duration lag);
  // How late it was for a timer that goes off so often. What would have gone off meanwhile was late
  // too: a stall counts for as long as it was.
  void AddTimerLag(Clock::duration lag, Clock::duration interval);

  // Of the whole run, which has ended now.
  ClientHealth Summarize(const std::vector<RequestRecord>& records, const RunOptions& options);

 private:
  Clock::time_point begin_;
  double cpu_begin_s_;
  double waited_begin_s_;
  // Judged apart: few sends that were in time do not excuse a timer that was late.
  std::vector<float> send_lags_ms_;
  std::vector<float> timer_lags_ms_;
};

// Sets `invalid` and `was_bottleneck` by the figures of `health`, and the number of requests that
// found no file descriptor.
void JudgeClient(int64_t without_descriptor, const RunOptions& options, ClientHealth& health);

// The lower end of the interval in which, at 95% on this side, the true share lies of which `count`
// of `sample_count` were seen (Wilson's score interval, 1927). 0 of no samples.
double LeastShare(int64_t count, int64_t sample_count);

}  // namespace weft
