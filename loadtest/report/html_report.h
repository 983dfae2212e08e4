// A run as one self-contained HTML file: nothing outside it is loaded, no script runs in it.
#pragma once

#include <string>

#include "loadtest/report/load_report.h"

namespace weft {

// Below 2 MB whatever the number of requests: plots and the timeline are of bounded size.
std::string HtmlReport(const LoadReport& report, const LoadRun& run);

// Parts that reports of several runs share.
std::string HtmlVerdict(const std::vector<std::string>& faults);
std::string HtmlLatencyTable(const Latencies& latencies);

}  // namespace weft
