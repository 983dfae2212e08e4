// A run's figures for a terminal.
#pragma once

#include <string>

#include "loadtest/report/load_report.h"

namespace weft {

// About 100 columns wide. `colour` adds ANSI's escape sequences; whatever the server said is
// printed without control characters.
std::string TableReport(const LoadReport& report, bool colour);

}  // namespace weft
