// A load test's figures, for people and for programs.
#pragma once

#include <map>
#include <span>
#include <string>

#include "loadtest/report/summary.h"
#include "loadtest/run/options.h"
#include "loadtest/run/request_result.h"

namespace weft {

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

std::string TextReport(const LoadtestOptions& options, const LoadtestSummary& summary);

// One line of JSON, times in milliseconds.
std::string JsonReport(const LoadtestOptions& options, const LoadtestSummary& summary);

}  // namespace weft
