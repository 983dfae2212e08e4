#include "loadtest/sweep/confidence.h"

#include <array>
#include <cmath>
#include <numeric>

namespace weft {

double StudentT95(int64_t degrees) {
  constexpr auto kTable =
      std::to_array({12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228});
  if (degrees <= static_cast<int64_t>(kTable.size())) {
    return kTable.at(static_cast<size_t>(degrees - 1));
  }
  // The expansion about the normal quantile z (Abramowitz and Stegun 26.7.5).
  const double z = 1.959964;
  const auto n = static_cast<double>(degrees);
  const double z3 = z * z * z, z5 = z3 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n);
}

Interval MeanInterval(std::span<const double> samples) {
  Interval interval;
  interval.sample_count = static_cast<int64_t>(samples.size());
  if (samples.empty()) return interval;
  const auto count = static_cast<double>(samples.size());
  interval.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  double half_width = 0;
  if (samples.size() > 1) {
    double squares = 0;
    for (const double sample : samples) {
      squares += (sample - interval.mean) * (sample - interval.mean);
    }
    half_width = StudentT95(interval.sample_count - 1) * std::sqrt(squares / (count - 1) / count);
  }
  interval.low = interval.mean - half_width;
  interval.high = interval.mean + half_width;
  return interval;
}

}  // namespace weft
