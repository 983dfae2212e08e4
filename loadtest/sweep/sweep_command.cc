#include "loadtest/sweep/sweep_command.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "loadtest/load_test.h"
#include "loadtest/report/format.h"
#include "loadtest/report/report_files.h"
#include "loadtest/sweep/run_figures.h"
#include "loadtest/sweep/sweep.h"
#include "loadtest/sweep/sweep_report.h"

namespace weft {
namespace {

constexpr std::string_view kAuto = "auto";
constexpr auto kDefaultDuration = std::chrono::seconds(15);  // of a run
// No rate is lower, so that a run says something: a run of stated length has so many requests on
// average; one of a stated number ends some time.
constexpr double kLeastRequests = 5;
constexpr double kLeastRate = 1.0 / 64;

struct SweepArguments {
  LoadTest test;
  ReportFiles files;
  SweepOptions sweep;
  std::string rates;
  std::string users;
};

void AddOptions(CLI::App& app, SweepArguments& arguments) {
  const std::string group = "Sweep";
  CLI::Option* rates = app.add_option("--rates", arguments.rates,
                                      "Requests a second of the runs: 1,2,4,8, or auto: doubled "
                                      "from 1 until the server saturates (halved while 1 is too "
                                      "much), then bisected")
                           ->group(group);
  app.add_option("--concurrencies", arguments.users,
                 "Users of the runs, likewise: 1,4,16, or auto, which is the default")
      ->excludes(rates)
      ->group(group);
  app.add_option("--repeats", arguments.sweep.repeats, "Runs of each load")
      ->check(CLI::Range(1, 100).description(""))
      ->capture_default_str()
      ->group(group);
  app.add_option("--max-load", arguments.sweep.max_load,
                 "Of auto: the highest load to try, which is the last")
      ->check(CLI::Range(1.0, 1e6).description(""))
      ->capture_default_str()
      ->group(group);
  AddReportOptions(app, arguments.files, "File for a line a load");
  AddLoadTestOptions(app, arguments.test);
  // These state one load, of which a sweep has many.
  for (const char* name : {"--rate", "--concurrency"}) app.remove_option(app.get_option(name));
}

Result<void> Complete(SweepArguments& arguments) {
  PlanOptions& plan = arguments.test.plan;
  SweepOptions& sweep = arguments.sweep;
  sweep.open_loop = !arguments.rates.empty();
  const std::string& loads = sweep.open_loop ? arguments.rates : arguments.users;
  if (!loads.empty() && loads != kAuto) {
    WEFT_ASSIGN_OR_RETURN(sweep.loads, ParseLoads(loads, !sweep.open_loop));
  }
  sweep.seek_objectives = !arguments.test.goals.objectives.empty();
  // By time, not by count: a count that loads many users is an hour for one.
  if (!plan.request_count && plan.duration.count() == 0) plan.duration = kDefaultDuration;
  if (sweep.open_loop) {
    const double duration_s = std::chrono::duration<double>(plan.duration).count();
    sweep.least_load = duration_s > 0 ? kLeastRequests / duration_s : kLeastRate;
  } else {
    sweep.max_load = std::floor(sweep.max_load);
  }
  return {};
}

std::string RunLine(const std::string& label, const LoadReport& report) {
  std::string line = label + ":";
  std::vector<std::string_view> keys = {"output_tokens_per_s", "ttft_p99", "itl_p99"};
  if (!report.summary.generates) keys = {"texts_per_s", "e2e_p99"};
  for (const std::string_view key : keys) {
    const RunFigure& figure = FigureOf(key);
    if (const auto value = figure.value(report)) {
      line += fmt::format(" {} {},", figure.title, FormatFigure(figure, *value));
    }
  }
  line += fmt::format(" {} requests, {} failed", FormatCount(report.summary.all.succeeded),
                      FormatCount(report.summary.all.failed));
  if (!report.summary.client.invalid.empty()) {
    line += " - INVALID: " + report.summary.client.invalid;
  }
  return line;
}

}  // namespace

int SweepCommand(int argc, const char* const* argv) {
  CLI::App app(
      "Measures a server under rising load: where it saturates and, with --slo, the highest load "
      "at which it keeps the objectives. A run takes 15 s unless --duration or --requests say "
      "otherwise.",
      "weft loadtest sweep");
  SweepArguments arguments;
  AddOptions(app, arguments);
  if (const auto status = ParseArguments(app, argc, argv)) return *status;
  if (const Result<void> complete = Complete(arguments); !complete) {
    return PrintError(app, complete.error());
  }
  const SweepOptions& sweep = arguments.sweep;

  uint64_t run_count = 0;
  const auto measure = [&](double load, int32_t repeat) -> Result<LoadReport> {
    LoadTest test = arguments.test;
    if (sweep.open_loop) {
      test.plan.rate = load;
    } else {
      test.plan.concurrency = static_cast<int32_t>(load);
    }
    // Other prompts each time, which no cache of the server has seen.
    test.plan.seed += run_count++;
    test.run.progress_label =
        fmt::format("{:.4g} {}, {} of {}", load, sweep.open_loop ? "requests/s" : "users",
                    repeat + 1, sweep.repeats);
    WEFT_ASSIGN_OR_RETURN(LoadTestResult result, RunLoadTest(test));
    if (test.run.progress) {
      std::fprintf(stderr, "%s\n", RunLine(test.run.progress_label, result.report).c_str());
    }
    return std::move(result.report);
  };
  const Result<SweepResult> result = RunSweep(sweep, measure);
  if (!result) return PrintError(app, result.error());
  const Result<void> written = WriteReports(
      arguments.files, {.table = [&](bool colour) { return SweepTable(*result, sweep, colour); },
                        .json = [&] { return SweepJson(*result, sweep); },
                        .csv = [&] { return SweepCsv(*result, sweep); },
                        .html = [&] { return SweepHtml(*result, sweep); }});
  if (!written) return PrintError(app, written.error());
  return IsSuccess(*result, sweep) ? kSuccess : kFailure;
}

}  // namespace weft
