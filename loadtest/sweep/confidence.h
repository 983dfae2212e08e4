// How sure a mean of few repeats is.
#pragma once

#include <cstdint>
#include <span>

namespace weft {

// A mean and the interval in which, by a confidence, the true mean lies: Student's t, which
// supposes that repeats are independent and about normally distributed. Of one sample or none there
// is no interval: low and high are the mean.
struct Interval {
  int64_t sample_count = 0;
  double mean = 0;
  double low = 0;
  double high = 0;
};

inline constexpr double kUsualConfidence = 0.95;

// confidence: in (0, 1).
Interval MeanInterval(std::span<const double> samples, double confidence = kUsualConfidence);

}  // namespace weft
