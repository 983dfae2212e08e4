// A load test's figures, for people and for programs.
#pragma once

#include <string>

#include "loadtest/report/statistics.h"
#include "loadtest/run/options.h"

namespace weft {

std::string TextReport(const LoadtestOptions& options, const LoadtestSummary& summary);

// One line of JSON, times in milliseconds.
std::string JsonReport(const LoadtestOptions& options, const LoadtestSummary& summary);

}  // namespace weft
