// A run's figures over its time, and whole distributions: what is plotted.
#pragma once

#include <cstddef>
#include <vector>

#include "loadtest/report/latency.h"
#include "loadtest/report/svg_plot.h"
#include "loadtest/run/load_run.h"

namespace weft {

struct TimeBucket {
  double begin_s = 0;        // since the first sending
  Distribution first_token;  // of requests planned in it
  Distribution inter_token;  // of tokens that arrived in it
  Distribution end_to_end;   // of requests that ended in it
  double output_tokens_per_s = 0;
  double texts_per_s = 0;
  double succeeded_per_s = 0;
  double failed_per_s = 0;
  double in_flight = 0;  // on average
};

struct TimeSeries {
  double bucket_s = 0;
  double end_s = 0;  // of the last bucket, which may be half as long again or half as short
  std::vector<TimeBucket> buckets;
};

// At most `max_buckets` buckets of a round length.
TimeSeries MakeTimeSeries(const LoadRun& run, size_t max_buckets);

// The share of the samples (y, 0 to 1) that are at most x, in at most `max_points` points of equal
// height; the last is the largest sample.
std::vector<PlotPoint> CumulativeShares(std::vector<double> samples, size_t max_points);

}  // namespace weft
