// When the requests of an open loop leave.
#pragma once

#include <chrono>
#include <cstdint>

#include "loadtest/plan/random.h"

namespace weft {

enum class ArrivalProcess {
  kConstant,  // equal gaps; the first request leaves at once
  kPoisson,   // exponential gaps: independent users
  kGamma,     // gamma-distributed gaps: bursts, or more regular than independent users
};

struct ArrivalOptions {
  ArrivalProcess process = ArrivalProcess::kPoisson;
  double rate = 1;  // requests a second, > 0
  // kGamma: the shape. The gaps' coefficient of variation is 1 / sqrt(burstiness): 1 is Poisson,
  // less is burstier, more is more regular (as in vLLM's benchmark).
  double burstiness = 1;
  // The rate grows linearly from 0 to `rate` over this time, then stays: half as many requests
  // leave in it as in the same time afterwards.
  std::chrono::nanoseconds ramp{0};
};

// Times since the start of the run, one after the other, never decreasing.
class Arrivals {
 public:
  Arrivals(const ArrivalOptions& options, uint64_t seed) : options_(options), random_(seed) {}

  std::chrono::nanoseconds Next();

 private:
  double Gap();  // of the same process at a rate of 1

  ArrivalOptions options_;
  Random random_;
  double expected_count_ = 0;  // of requests before this one: the process's own time
  bool started_ = false;
};

}  // namespace weft
