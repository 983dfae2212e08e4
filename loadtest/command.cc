#include "loadtest/command.h"

#include <string_view>

#include <CLI/CLI.hpp>

#include "loadtest/load_test.h"
#include "loadtest/report/csv_report.h"
#include "loadtest/report/html_report.h"
#include "loadtest/report/json_report.h"
#include "loadtest/report/report_files.h"
#include "loadtest/report/table_report.h"
#include "loadtest/sweep/compare_command.h"
#include "loadtest/sweep/sweep_command.h"

namespace weft {
namespace {

int RunCommand(int argc, const char* const* argv) {
  CLI::App app("Drives an OpenAI-compatible server and measures what its clients would see.",
               "weft loadtest");
  app.footer(
      "Examples:\n"
      "  weft loadtest --url http://127.0.0.1:8080 --concurrency 8 --requests 200 --html run.html\n"
      "  weft loadtest --rate 4 --duration 2m --slo ttft_p99=500ms,itl_p99=100ms\n\n"
      "`weft loadtest sweep` raises the load to where the server saturates; `weft loadtest "
      "compare` tells two servers apart. Both have a --help of their own. docs/LOADTEST.md says "
      "more.");
  LoadTest test;
  ReportFiles files;
  AddLoadTestOptions(app, test);
  AddReportOptions(app, files, "File for a line a request");
  if (const auto status = ParseArguments(app, argc, argv)) return *status;

  const Result<LoadTestResult> result = RunLoadTest(test);
  if (!result) return PrintError(app, result.error());
  const LoadReport& report = result->report;
  const Result<void> written =
      WriteReports(files, {.table = [&](bool colour) { return TableReport(report, colour); },
                           .json = [&] { return JsonReport(report); },
                           .csv = [&] { return CsvReport(result->run, result->plan); },
                           .html = [&] { return HtmlReport(report, result->run); }});
  if (!written) return PrintError(app, written.error());
  return report.faults.empty() ? kSuccess : kFailure;
}

}  // namespace

int LoadtestCommand(int argc, const char* const* argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "sweep") return SweepCommand(argc - 1, argv + 1);
  if (command == "compare") return CompareCommand(argc - 1, argv + 1);
  return RunCommand(argc, argv);
}

}  // namespace weft
