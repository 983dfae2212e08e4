// Where reports go: stdout, and files that were asked for.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace CLI {
class App;
}

namespace weft {

struct ReportFiles {
  bool json = false;  // stdout gets JSON instead of a table
  std::string csv_path;
  std::string html_path;
};

// "--json", "--csv" and "--html". `csv_help` says what a line is.
void AddReportOptions(CLI::App& app, ReportFiles& files, const std::string& csv_help);

// A report in its forms, each made only if it is asked for.
struct ReportForms {
  std::function<std::string(bool colour)> table;
  std::function<std::string()> json;
  std::function<std::string()> csv;
  std::function<std::string()> html;
};

// Colours only if stdout is a terminal and NO_COLOR is not set.
Result<void> WriteReports(const ReportFiles& files, const ReportForms& forms);

}  // namespace weft
