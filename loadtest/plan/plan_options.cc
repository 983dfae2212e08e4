#include "loadtest/plan/plan_options.h"

#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include "loadtest/plan/durations.h"

namespace weft {
namespace {

// An option whose text `parse` turns into a Result of what `value` holds.
template <typename T, typename Parser>
CLI::Option* AddParsed(CLI::App& app, const std::string& name, T& value, Parser parse,
                       const std::string& help) {
  return app.add_option_function<std::string>(
      name,
      [name, &value, parse](const std::string& text) {
        auto parsed = parse(text);
        if (!parsed) throw CLI::ValidationError(name, parsed.error().message);
        value = *std::move(parsed);
      },
      help);
}

void AddArrivalOptions(CLI::App& app, PlanOptions& options) {
  const std::string group = "When requests are sent";
  CLI::Option* concurrency =
      app.add_option(
             "--concurrency", options.concurrency,
             "Closed loop: so many users, each of whom sends the next request when the last "
             "one is answered (8, unless --rate is stated)")
          ->group(group);
  CLI::Option* rate = app.add_option("--rate", options.rate,
                                     "Open loop: requests a second, sent whatever the server does")
                          ->excludes(concurrency)
                          ->group(group);
  const std::map<std::string, ArrivalProcess> processes = {{"constant", ArrivalProcess::kConstant},
                                                           {"poisson", ArrivalProcess::kPoisson},
                                                           {"gamma", ArrivalProcess::kGamma}};
  app.add_option_function<std::string>(
         "--arrivals",
         [&options, processes](const std::string& name) { options.arrivals = processes.at(name); },
         "Gaps between the requests of --rate: equal, exponential (independent users), or "
         "gamma-distributed (bursts)")
      ->check(CLI::IsMember({"constant", "poisson", "gamma"}))
      ->default_str("poisson")
      ->needs(rate)
      ->group(group);
  app.add_option("--burstiness", options.burstiness,
                 "Shape of the gamma distribution, which this option implies; gaps vary by a "
                 "coefficient of 1 / sqrt(burstiness): below 1 bursts, 1 Poisson, above 1 more "
                 "regular (0.25)")
      ->needs(rate)
      ->group(group);
  AddParsed(app, "--ramp", options.ramp, ParseDuration,
            "Time over which the rate grows from 0, or users come one by one")
      ->group(group);
  app.add_option("--requests", options.request_count, "Requests in all (200, unless --duration)")
      ->group(group);
  AddParsed(app, "--duration", options.duration, ParseDuration,
            "Send nothing after this time: 90 or 90s, 5m, 1h")
      ->group(group);
}

void AddWorkloadOptions(CLI::App& app, PlanOptions& options) {
  const std::string group = "What is sent";
  Workload& workload = options.workload;
  AddParsed(app, "--prompt-tokens", workload.prompt_tokens, ParseLengths,
            "Length of generated prompts: N, LEAST-MOST, normal:MEAN,DEVIATION or "
            "lognormal:MEAN,DEVIATION")
      ->default_str("64")
      ->group(group);
  AddParsed(app, "--max-tokens", workload.max_tokens, ParseLengths,
            "Output tokens of a request, at most; in the same ways")
      ->default_str("64")
      ->group(group);
  app.add_option("--vocabulary-size", options.vocabulary_size,
                 "Send prompts as token ids, of a vocabulary of this size: exact lengths, for "
                 "servers that take them (without: as words, about one token each)")
      ->group(group);
  app.add_option("--seed", options.seed,
                 "Decides everything that is drawn: the same seed and "
                 "options send the same requests at the same times")
      ->capture_default_str()
      ->group(group);
}

}  // namespace

void AddPlanOptions(CLI::App& app, PlanOptions& options) {
  AddArrivalOptions(app, options);
  AddWorkloadOptions(app, options);
}

}  // namespace weft
