#include "loadtest/plan/arrivals.h"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

// Beyond, a time would not fit its type; plans end long before.
constexpr double kMaxSeconds = 9e9;

}  // namespace

double Arrivals::Gap() {
  switch (options_.process) {
    case ArrivalProcess::kConstant:
      return started_ ? 1 : 0;
    case ArrivalProcess::kPoisson:
      return random_.Exponential();
    case ArrivalProcess::kGamma:
      return random_.Gamma(options_.burstiness) / options_.burstiness;
  }
  return 1;
}

std::chrono::nanoseconds Arrivals::Next() {
  expected_count_ += Gap();
  started_ = true;
  // The process runs in its own time, in which one request a unit is expected; the ramp is the
  // relation between that and seconds: rate t^2 / (2 ramp), and after it rate (t - ramp / 2).
  const double ramp_s = std::chrono::duration<double>(options_.ramp).count();
  const double ramp_count = options_.rate * ramp_s / 2;
  const double seconds = expected_count_ < ramp_count
                             ? std::sqrt(2 * ramp_s * expected_count_ / options_.rate)
                             : ramp_s / 2 + expected_count_ / options_.rate;
  return std::chrono::nanoseconds(static_cast<int64_t>(std::min(seconds, kMaxSeconds) * 1e9));
}

}  // namespace weft
