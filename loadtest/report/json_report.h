// A run's figures for programs: docs/LOADTEST.md describes the schema.
#pragma once

#include <string>

#include "loadtest/report/load_report.h"

namespace weft {

// Raised when a member changes its meaning or goes; new members may come at any time.
inline constexpr int kReportSchemaVersion = 2;

// One line. A time's unit ends its member's name, or that of the object around it: _ms or _s. What
// was not measured is absent, never 0 or null: nobody takes it for a figure.
std::string JsonReport(const LoadReport& report);

}  // namespace weft
