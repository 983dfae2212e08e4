// From the requests of a load test to the figures of its report.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "loadtest/run/request_result.h"

namespace weft {

// Milliseconds. All zero when sample_count is.
struct Distribution {
  int64_t sample_count = 0;
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
};

// Percentiles by nearest rank: the smallest sample that at least p percent do not exceed. Every
// percentile is a sample that occurred.
Distribution Summarize(std::vector<double> samples);

struct FailureCount {
  int64_t count = 0;
  std::string example;  // the detail of the first one
};

struct LoadtestSummary {
  double wall_s = 0;
  int64_t succeeded = 0;
  int64_t failed = 0;
  std::map<std::string, FailureCount> failures;  // by kind

  // Of the requests that succeeded.
  int64_t prompt_tokens = 0;
  int64_t output_tokens = 0;
  double requests_per_s = 0;
  double output_tokens_per_s = 0;
  Distribution first_token;  // from sending the request to the first text
  Distribution per_token;    // a request's (last text - first text) / (output tokens - 1)
  Distribution chunk_gap;    // between consecutive chunks of text, over all requests
  Distribution whole;        // from sending the request to its last byte
};

LoadtestSummary SummarizeLoadtest(std::span<const RequestResult> results,
                                  std::chrono::steady_clock::duration wall);

}  // namespace weft
