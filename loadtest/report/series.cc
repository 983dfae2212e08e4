#include "loadtest/report/series.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace weft {
namespace {

using Clock = RequestRecord::Clock;

// The smallest of 1, 2 and 5 times a power of ten that is not below `value`.
double RoundUp(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

struct BucketSamples {
  std::vector<double> first_token, inter_token, end_to_end;
  double output_tokens = 0, texts = 0, succeeded = 0, failed = 0, busy_s = 0;
};

class Buckets {
 public:
  Buckets(Clock::time_point origin, double duration_s, double bucket_s)
      : origin_(origin),
        bucket_s_(bucket_s),
        samples_(std::max<size_t>(static_cast<size_t>(std::lround(duration_s / bucket_s)), 1)) {}

  void Add(const RequestRecord& record) {
    AddBusy(Seconds(record.sent), Seconds(record.end));
    if (record.hostile) return;
    BucketSamples& last = At(record.end);
    if (!record.ok()) {
      last.failed += 1;
      return;
    }
    last.succeeded += 1;
    last.texts += static_cast<double>(record.text_count);
    last.end_to_end.push_back(*LatencyOf(record, Metric::kEndToEnd));
    if (const auto latency = LatencyOf(record, Metric::kFirstToken)) {
      At(record.planned).first_token.push_back(*latency);
    }
    if (record.arrivals.empty()) last.output_tokens += static_cast<double>(record.output_tokens);
    for (size_t i = 0; i < record.arrivals.size(); ++i) {
      const RequestRecord::Arrival& arrival = record.arrivals[i];
      BucketSamples& bucket = At(arrival.time);
      bucket.output_tokens += arrival.token_count;
      if (i > 0) AppendGaps(record, i, bucket.inter_token);
    }
  }

  // The last one ends with the run.
  std::vector<TimeBucket> Finish(double duration_s) {
    std::vector<TimeBucket> buckets;
    for (size_t i = 0; i < samples_.size(); ++i) {
      BucketSamples& samples = samples_[i];
      const double begin_s = static_cast<double>(i) * bucket_s_;
      const double length_s = i + 1 == samples_.size() ? duration_s - begin_s : bucket_s_;
      buckets.push_back({.begin_s = begin_s,
                         .first_token = Summarize(std::move(samples.first_token)),
                         .inter_token = Summarize(std::move(samples.inter_token)),
                         .end_to_end = Summarize(std::move(samples.end_to_end)),
                         .output_tokens_per_s = samples.output_tokens / length_s,
                         .texts_per_s = samples.texts / length_s,
                         .succeeded_per_s = samples.succeeded / length_s,
                         .failed_per_s = samples.failed / length_s,
                         .in_flight = samples.busy_s / length_s});
    }
    return buckets;
  }

 private:
  double Seconds(Clock::time_point time) const {
    return std::chrono::duration<double>(time - origin_).count();
  }

  BucketSamples& At(Clock::time_point time) {
    const double index = std::floor(std::max(Seconds(time), 0.0) / bucket_s_);
    return samples_[std::min(static_cast<size_t>(index), samples_.size() - 1)];
  }

  void AddBusy(double begin_s, double end_s) {
    for (size_t i = 0; i < samples_.size(); ++i) {
      const double from_s = static_cast<double>(i) * bucket_s_;
      const bool last = i + 1 == samples_.size();
      const double shared_s =
          (last ? end_s : std::min(end_s, from_s + bucket_s_)) - std::max(begin_s, from_s);
      samples_[i].busy_s += std::max(shared_s, 0.0);
    }
  }

  Clock::time_point origin_;
  double bucket_s_;
  std::vector<BucketSamples> samples_;
};

}  // namespace

TimeSeries MakeTimeSeries(const LoadRun& run, size_t max_buckets) {
  TimeSeries series;
  if (run.records.empty()) return series;
  Clock::time_point first = run.records.front().sent;
  Clock::time_point last = run.records.front().end;
  for (const RequestRecord& record : run.records) {
    first = std::min(first, record.sent);
    last = std::max(last, record.end);
  }
  const double duration_s = std::chrono::duration<double>(last - first).count();
  if (duration_s <= 0) return series;
  series.bucket_s = RoundUp(duration_s / static_cast<double>(max_buckets));
  Buckets buckets(first, duration_s, series.bucket_s);
  for (const RequestRecord& record : run.records) buckets.Add(record);
  series.end_s = duration_s;
  series.buckets = buckets.Finish(duration_s);
  return series;
}

std::vector<PlotPoint> CumulativeShares(std::vector<double> samples, size_t max_points) {
  std::sort(samples.begin(), samples.end());
  std::vector<PlotPoint> points;
  const size_t count = samples.size();
  const size_t point_count = std::min(count, max_points);
  for (size_t i = 1; i <= point_count; ++i) {
    const size_t rank = i * count / point_count;  // 1 to count
    points.push_back(
        {samples[rank - 1], static_cast<double>(rank) / static_cast<double>(count), {}, {}});
  }
  return points;
}

}  // namespace weft
