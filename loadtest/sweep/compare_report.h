// A comparison for terminals, programs and browsers.
#pragma once

#include <string>

#include "loadtest/report/latency.h"
#include "loadtest/sweep/compare.h"

namespace weft {

std::string CompareTable(const CompareResult& result, const CompareOptions& options, bool colour);

// One line.
std::string CompareJson(const CompareResult& result, const CompareOptions& options);

// A line a run, in the order of the rounds: its figures, all there are.
std::string CompareCsv(const CompareResult& result);

// The latencies of all requests that succeeded, of all rounds together.
struct CompareSamples {
  LatencySamples candidate;
  LatencySamples baseline;
};

// Self-contained, with both sides in every plot.
std::string CompareHtml(const CompareResult& result, const CompareOptions& options,
                        const CompareSamples& samples);

std::string FormatChange(double share);  // "+12.3%"; beyond +1000%, only that
// "better", "WORSE", "no difference beyond 5%", ...
std::string DescribeVerdict(const FigureComparison& figure, double tolerance);

}  // namespace weft
