#include "loadtest/command.h"

#include <chrono>
#include <cstdio>
#include <limits>
#include <string>

#include <CLI/CLI.hpp>

#include "loadtest/report/report.h"
#include "loadtest/report/statistics.h"
#include "loadtest/run/options.h"
#include "loadtest/run/runner.h"

namespace weft {
namespace {

constexpr int kUsageError = 2;

void AddOptions(CLI::App& app, LoadtestOptions& options) {
  const CLI::Range positive(1, std::numeric_limits<int32_t>::max());
  app.add_option("--url", options.url, "The server: http://HOST:PORT")->capture_default_str();
  app.add_option("--model", options.model, "Model to ask for; by default the first one listed");
  app.add_option("--api-key", options.api_key, "Sent as a bearer token")->envname("WEFT_API_KEY");
  app.add_option("--concurrency", options.concurrency, "Requests at a time")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--requests", options.request_count, "Requests in all")
      ->check(positive)
      ->capture_default_str();
  CLI::Option* prompt = app.add_option("--prompt", options.prompt, "The prompt of every request");
  app.add_option("--prompt-tokens", options.prompt_tokens,
                 "Length of generated prompts, about: their number of short words")
      ->check(positive)
      ->excludes(prompt)
      ->capture_default_str();
  app.add_option("--max-tokens", options.max_tokens, "Output tokens of a request, at most")
      ->check(positive)
      ->capture_default_str();
  app.add_flag("--ignore-eos", options.ignore_eos, "Ask for all of them (not every server can)");
  app.add_option("--temperature", options.temperature)
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of the generated prompts")->capture_default_str();
  app.add_flag("--stream,!--no-stream", options.stream, "Stream the answers (the default), or not");
  app.add_option("--timeout", options.timeout_s, "Seconds that one request may take")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  app.add_flag("--json", options.json, "The report as one line of JSON");
}

}  // namespace

int LoadtestCommand(int argc, const char* const* argv) {
  CLI::App app("Drives an OpenAI-compatible server and reports throughput and latencies.",
               "weft loadtest");
  LoadtestOptions options;
  AddOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "weft loadtest: %s\n", error.what());
    return kUsageError;
  }

  const Result<LoadtestRun> run = RunLoad(options);
  if (!run) {
    std::fprintf(stderr, "weft loadtest: %s\n", run.error().message.c_str());
    return 1;
  }
  const LoadtestSummary summary = SummarizeLoadtest(run->results, run->wall);
  const std::string report =
      options.json ? JsonReport(options, summary) : TextReport(options, summary);
  std::fputs(report.c_str(), stdout);
  if (run->interrupted) std::fprintf(stderr, "weft loadtest: interrupted\n");
  return summary.failed == 0 && !run->interrupted ? 0 : 1;
}

}  // namespace weft
