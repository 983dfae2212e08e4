// Distributions of samples.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

// Milliseconds. All zero when sample_count is.
struct Distribution {
  int64_t sample_count = 0;
  double mean = 0;
  double stddev = 0;  // of the sample (n - 1); 0 for one
  double p50 = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
  double p999 = 0;  // 99.9 percent
  double max = 0;
};

// Percentiles are NearestRank's.
Distribution Summarize(std::vector<double> samples);

}  // namespace weft
