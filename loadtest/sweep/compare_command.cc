#include "loadtest/sweep/compare_command.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "loadtest/load_test.h"
#include "loadtest/plan/numbers.h"
#include "loadtest/report/format.h"
#include "loadtest/report/report_files.h"
#include "loadtest/sweep/compare.h"
#include "loadtest/sweep/compare_report.h"

namespace weft {
namespace {

constexpr int kInvalid = 3;
constexpr std::string_view kFiguresOfTokens =
    "output_tokens_per_s,ttft_p50,ttft_p99,itl_p50,itl_p99";
constexpr std::string_view kFiguresOfTexts = "texts_per_s,e2e_p50,e2e_p99";

struct CompareArguments {
  LoadTest test;
  CompareOptions compare;
  std::string against;
  std::string against_model;
  std::string tolerance = "5%";
  std::string figures;
  ReportFiles files;
};

void AddOptions(CLI::App& app, CompareArguments& arguments) {
  const std::string group = "Comparison";
  app.add_option("--against", arguments.against, "URL of the baseline; --url is the candidate")
      ->required()
      ->group(group);
  app.add_option("--against-model", arguments.against_model,
                 "Model to ask the baseline for; by default --model's, else the first one listed")
      ->group(group);
  app.add_option("--rounds", arguments.compare.rounds, "Pairs of runs")
      ->check(CLI::Range(2, 1000).description(""))
      ->capture_default_str()
      ->group(group);
  app.add_option("--tolerance", arguments.tolerance, "Changes up to this do not matter")
      ->capture_default_str()
      ->group(group);
  app.add_option("--figures", arguments.figures,
                 "What is compared: output_tokens_per_s, texts_per_s, requests_per_s, "
                 "goodput_per_s, error_rate, and _p50 and _p99 of ttft, tpot, itl, e2e; of "
                 "embeddings and rankings, texts_per_s and e2e unless stated")
      ->default_str(std::string(kFiguresOfTokens))
      ->group(group);
  AddLoadTestOptions(app, arguments.test);
  AddReportOptions(app, arguments.files, "File for a line a run");
}

Result<void> Complete(CompareArguments& arguments) {
  const bool generates = Generates(arguments.test.run.endpoint);
  WEFT_ASSIGN_OR_RETURN(arguments.compare.figures,
                        ParseFigures(!arguments.figures.empty() ? arguments.figures
                                     : generates                ? kFiguresOfTokens
                                                                : kFiguresOfTexts));
  WEFT_ASSIGN_OR_RETURN(arguments.compare.tolerance, ParseShare(arguments.tolerance));
  const std::vector<RunFigure>& figures = arguments.compare.figures;
  const bool needs_goodput =
      std::any_of(figures.begin(), figures.end(),
                  [](const RunFigure& figure) { return figure.key == "goodput_per_s"; });
  if (needs_goodput && arguments.test.goals.request_limits.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "--figures goodput_per_s: expected the limits of --goodput beside it");
  }
  if (arguments.against_model.empty()) arguments.against_model = arguments.test.run.model;
  return {};
}

}  // namespace

int CompareCommand(int argc, const char* const* argv) {
  CLI::App app(
      "Measures two servers in turns, A B, B A, ..., under the same load, and says whether the "
      "candidate is worse than the baseline: exit status 0 if not, 1 if it is, 3 if nothing can "
      "be said.",
      "weft loadtest compare");
  CompareArguments arguments;
  AddOptions(app, arguments);
  if (const auto status = ParseArguments(app, argc, argv)) return *status;
  if (const Result<void> complete = Complete(arguments); !complete) {
    return PrintError(app, complete.error());
  }

  CompareSamples samples;
  const auto measure = [&](Side side, int32_t round) -> Result<LoadReport> {
    LoadTest test = arguments.test;
    if (side == Side::kBaseline) {
      test.run.url = arguments.against;
      test.run.model = arguments.against_model;
    }
    // The same prompts for both sides of a round, others in the next.
    test.plan.seed += static_cast<uint64_t>(round);
    test.run.progress_label = fmt::format("round {} of {}, {}", round + 1, arguments.compare.rounds,
                                          side == Side::kBaseline ? "baseline" : "candidate");
    WEFT_ASSIGN_OR_RETURN(LoadTestResult result, RunLoadTest(test));
    if (test.run.progress) {
      const RunFigure& throughput = ThroughputOf(result.report);
      std::fprintf(stderr, "%s: %s %s\n", test.run.progress_label.c_str(),
                   FormatNumber(throughput.value(result.report).value_or(0)).c_str(),
                   std::string(throughput.title).c_str());
    }
    if (!arguments.files.html_path.empty()) {
      for (const RequestRecord& record : result.run.records) {
        if (!record.ok()) continue;
        AppendLatencies(record, side == Side::kBaseline ? samples.baseline : samples.candidate);
      }
    }
    return std::move(result.report);
  };
  const Result<CompareResult> result = RunComparison(arguments.compare, measure);
  if (!result) {
    const int status = PrintError(app, result.error());
    return status == kUsageError ? kUsageError : kInvalid;
  }
  const Result<void> written = WriteReports(
      arguments.files,
      {.table = [&](bool colour) { return CompareTable(*result, arguments.compare, colour); },
       .json = [&] { return CompareJson(*result, arguments.compare); },
       .csv = [&] { return CompareCsv(*result); },
       .html = [&] { return CompareHtml(*result, arguments.compare, samples); }});
  if (!written) return PrintError(app, written.error());
  if (!result->invalid.empty()) return kInvalid;
  return result->worse() ? kFailure : kSuccess;
}

}  // namespace weft
