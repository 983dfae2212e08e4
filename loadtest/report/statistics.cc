#include "loadtest/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft {
namespace {

double Milliseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

Distribution Summarize(std::vector<double> samples) {
  Distribution result;
  if (samples.empty()) return result;
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  const auto percentile = [&](double percent) {
    const auto rank = static_cast<size_t>(std::ceil(percent * count / 100));
    return samples[std::max<size_t>(rank, 1) - 1];
  };
  result.sample_count = static_cast<int64_t>(samples.size());
  result.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  result.p50 = percentile(50);
  result.p90 = percentile(90);
  result.p95 = percentile(95);
  result.p99 = percentile(99);
  result.max = samples.back();
  return result;
}

LoadtestSummary SummarizeLoadtest(std::span<const RequestResult> results,
                                  std::chrono::steady_clock::duration wall) {
  LoadtestSummary summary;
  std::vector<double> first_token, per_token, chunk_gap, whole;
  for (const RequestResult& result : results) {
    if (!result.ok()) {
      ++summary.failed;
      FailureCount& failure = summary.failures[result.failure];
      if (failure.count++ == 0) failure.example = result.failure_detail;
      continue;
    }
    ++summary.succeeded;
    summary.prompt_tokens += result.prompt_tokens;
    summary.output_tokens += result.output_tokens;
    whole.push_back(Milliseconds(result.end - result.begin));
    const auto& arrivals = result.text_arrivals;
    if (arrivals.empty()) continue;
    first_token.push_back(Milliseconds(arrivals.front() - result.begin));
    for (size_t i = 1; i < arrivals.size(); ++i) {
      chunk_gap.push_back(Milliseconds(arrivals[i] - arrivals[i - 1]));
    }
    if (arrivals.size() > 1 && result.output_tokens > 1) {
      per_token.push_back(Milliseconds(arrivals.back() - arrivals.front()) /
                          static_cast<double>(result.output_tokens - 1));
    }
  }
  summary.wall_s = std::chrono::duration<double>(wall).count();
  if (summary.wall_s > 0) {
    summary.requests_per_s = static_cast<double>(summary.succeeded) / summary.wall_s;
    summary.output_tokens_per_s = static_cast<double>(summary.output_tokens) / summary.wall_s;
  }
  summary.first_token = Summarize(std::move(first_token));
  summary.per_token = Summarize(std::move(per_token));
  summary.chunk_gap = Summarize(std::move(chunk_gap));
  summary.whole = Summarize(std::move(whole));
  return summary;
}

}  // namespace weft
