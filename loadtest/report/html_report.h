// A run as one self-contained HTML file: nothing outside it is loaded, no script runs in it.
#pragma once

#include <string>

#include "loadtest/report/load_report.h"

namespace weft {

// Below 1 MB whatever the number of requests: plots and the timeline are of bounded size.
std::string HtmlReport(const LoadReport& report, const LoadRun& run);

}  // namespace weft
