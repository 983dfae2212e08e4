// Every request of a run as a line of CSV (RFC 4180), for spreadsheets and scripts.
#pragma once

#include <string>

#include "loadtest/plan/load_plan.h"
#include "loadtest/run/load_run.h"

namespace weft {

// With a header line. Times are milliseconds, `planned_ms`, `sent_ms` and `end_ms` since the first
// sending; what a request does not have is empty.
std::string CsvReport(const LoadRun& run, const LoadPlan& plan);

// A field as CSV writes it. Control characters become spaces; a text that a spreadsheet would take
// for a formula gets an apostrophe before it.
std::string CsvField(std::string_view text);

}  // namespace weft
