#include "loadtest/sweep/confidence.h"

#include <cmath>
#include <numeric>

#include <boost/math/distributions/students_t.hpp>

namespace weft {

namespace {

// Two-sided.
double StudentT(int64_t degrees, double confidence) {
  const boost::math::students_t distribution(static_cast<double>(degrees));
  return boost::math::quantile(boost::math::complement(distribution, (1 - confidence) / 2));
}

}  // namespace

Interval MeanInterval(std::span<const double> samples, double confidence) {
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
    half_width =
        StudentT(interval.sample_count - 1, confidence) * std::sqrt(squares / (count - 1) / count);
  }
  interval.low = interval.mean - half_width;
  interval.high = interval.mean + half_width;
  return interval;
}

}  // namespace weft
