#include "loadtest/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "loadtest/run/nearest_rank.h"

namespace weft {

Distribution Summarize(std::vector<double> samples) {
  Distribution result;
  if (samples.empty()) return result;
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  result.sample_count = static_cast<int64_t>(samples.size());
  result.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  if (samples.size() > 1) {
    double squares = 0;
    for (const double sample : samples) squares += (sample - result.mean) * (sample - result.mean);
    result.stddev = std::sqrt(squares / (count - 1));
  }
  result.p50 = NearestRank(samples, 500);
  result.p90 = NearestRank(samples, 900);
  result.p95 = NearestRank(samples, 950);
  result.p99 = NearestRank(samples, 990);
  result.p999 = NearestRank(samples, 999);
  result.max = samples.back();
  return result;
}

}  // namespace weft
