// A run's figures for programs: docs/LOADTEST.md describes the schema.
#pragma once

#include <string>

#include "loadtest/report/load_report.h"

namespace weft {

// Raised when a member changes its meaning or goes; new members may come at any time.
inline constexpr int kReportSchemaVersion = 1;

// One line. Times are milliseconds and end in _ms, or seconds and end in _s.
std::string JsonReport(const LoadReport& report);

}  // namespace weft
