// A sweep for terminals, programs and browsers.
#pragma once

#include <string>

#include "loadtest/sweep/sweep.h"

namespace weft {

// A row a load: means over its repeats, with the half width of their 95% interval.
std::string SweepTable(const SweepResult& result, const SweepOptions& options, bool colour);

// One line: every load with means, intervals, and the figures of each of its runs.
std::string SweepJson(const SweepResult& result, const SweepOptions& options);

// A line a load.
std::string SweepCsv(const SweepResult& result, const SweepOptions& options);

// Self-contained, with plots of throughput and latency against load.
std::string SweepHtml(const SweepResult& result, const SweepOptions& options);

std::string FormatLoad(double load);  // "8", "3.36"

// What the sweep found, in sentences.
std::vector<std::string> SweepFindings(const SweepResult& result, const SweepOptions& options);

}  // namespace weft
