#include "loadtest/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft {

Distribution Summarize(std::vector<double> samples) {
  Distribution result;
  if (samples.empty()) return result;
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  const auto percentile = [&](size_t per_mille) {  // in integers: 99.9% of 1000 is 999
    return samples[(per_mille * samples.size() + 999) / 1000 - 1];
  };
  result.sample_count = static_cast<int64_t>(samples.size());
  result.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  if (samples.size() > 1) {
    double squares = 0;
    for (const double sample : samples) squares += (sample - result.mean) * (sample - result.mean);
    result.stddev = std::sqrt(squares / (count - 1));
  }
  result.p50 = percentile(500);
  result.p90 = percentile(900);
  result.p95 = percentile(950);
  result.p99 = percentile(990);
  result.p999 = percentile(999);
  result.max = samples.back();
  return result;
}

}  // namespace weft
