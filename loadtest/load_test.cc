#include "loadtest/load_test.h"

#include <cstdio>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "loadtest/plan/numbers.h"
#include "loadtest/report/format.h"
#include "loadtest/report/objectives.h"
#include "loadtest/report/plan_text.h"
#include "loadtest/run/load_runner.h"

namespace weft {

void AddGoalOptions(CLI::App& app, ReportGoals& goals) {
  const std::string group = "What is expected";
  const auto parsed = [](auto result, const char* option) {
    if (!result) throw CLI::ValidationError(option, result.error().message);
    return *std::move(result);
  };
  app.add_option_function<std::string>(
         "--slo",
         [&goals, parsed](const std::string& text) {
           goals.objectives = parsed(ParseObjectives(text), "--slo");
         },
         "Objectives of the run: ttft_p99=500ms,itl_p99=100ms,e2e_p95=2s,error_rate=1%")
      ->type_name("OBJECTIVE,...")
      ->group(group);
  app.add_option_function<std::string>(
         "--goodput",
         [&goals, parsed](const std::string& text) {
           goals.request_limits = parsed(ParseRequestLimits(text), "--goodput");
         },
         "Limits of a request; the rate of those within all of them is the goodput: "
         "ttft=500ms,tpot=50ms")
      ->type_name("LIMIT,...")
      ->group(group);
  app.add_option_function<std::string>(
         "--max-error-rate",
         [&goals, parsed](const std::string& text) {
           goals.max_error_rate = parsed(ParseShare(text), "--max-error-rate");
         },
         "Failures that are no failure of the run: 1%; by default what --slo error_rate=... "
         "allows, else none")
      ->type_name("SHARE")
      ->group(group);
}

void AddLoadTestOptions(CLI::App& app, LoadTest& test) {
  AddRunOptions(app, test.run);
  AddPlanOptions(app, test.plan);
  AddGoalOptions(app, test.goals);
}

Result<LoadTestResult> RunLoadTest(const LoadTest& test) {
  LoadTestResult result;
  WEFT_ASSIGN_OR_RETURN(result.plan, MakePlan(test.plan));
  WEFT_ASSIGN_OR_RETURN(result.run, RunPlan(result.plan, test.run));
  result.report =
      MakeLoadReport(result.run, result.plan, PlanText(result.plan, test.run), test.goals);
  return result;
}

std::optional<int> ParseArguments(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return kSuccess;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), error.what());
    return kUsageError;
  }
  return std::nullopt;
}

int PrintError(const CLI::App& app, const Error& error) {
  constexpr size_t kMostBytes = 2000;  // it may quote the server
  std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(),
               Printable(error.message, kMostBytes).c_str());
  return error.code == ErrorCode::kInvalidArgument ? kUsageError : kFailure;
}

}  // namespace weft
