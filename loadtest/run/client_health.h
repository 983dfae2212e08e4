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

  // How late the client was for something that had a time.
  void AddLag(Clock::duration lag);

  // Of the whole run, which has ended now.
  ClientHealth Summarize(const std::vector<RequestRecord>& records, const RunOptions& options);

 private:
  Clock::time_point begin_;
  double cpu_begin_s_;
  std::vector<float> lags_ms_;
};

}  // namespace weft
