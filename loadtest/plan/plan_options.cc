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

constexpr const char* kWhat = "What is sent";

std::string NotEmpty(const std::string& text) {
  return text.empty() ? "expected a text, found none" : "";
}

void AddArrivalOptions(CLI::App& app, PlanOptions& options) {
  const std::string group = "When requests are sent";
  CLI::Option* concurrency =
      app.add_option(
             "--concurrency", options.concurrency,
             "Closed loop: so many users, each of whom sends the next request when the last "
             "one is answered (8, unless --rate is stated)")
          ->type_name("N")
          ->group(group);
  app.add_option("--rate", options.rate,
                 "Open loop: requests a second, sent whatever the server does")
      ->type_name("R")
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
      ->type_name("KIND")
      ->check(CLI::IsMember({"constant", "poisson", "gamma"}))
      ->default_str("poisson")
      ->group(group);
  app.add_option("--burstiness", options.burstiness,
                 "Shape of the gamma distribution, which this option implies; gaps vary by a "
                 "coefficient of 1 / sqrt(burstiness): below 1 bursts, 1 Poisson, above 1 more "
                 "regular (0.25)")
      ->type_name("B")
      ->group(group);
  AddParsed(app, "--ramp", options.ramp, ParseDuration,
            "Time over which the rate grows from 0, or users come one by one")
      ->type_name("TIME")
      ->group(group);
  app.add_option(
         "--requests", options.request_count,
         "Requests in all, every turn counted (200; with --duration, no limit; with --prompts or "
         "--trace, all that it has)")
      ->type_name("N")
      ->group(group);
  AddParsed(app, "--duration", options.duration, ParseDuration,
            "Send nothing after this time: 90 or 90s, 5m, 1h")
      ->type_name("TIME")
      ->group(group);
}

void AddGeneratedOptions(CLI::App& app, Workload& workload) {
  AddParsed(app, "--prompt-tokens", workload.prompt_tokens, ParseLengths,
            "Length of generated prompts: N, LEAST-MOST, normal:MEAN,DEVIATION or "
            "lognormal:MEAN,DEVIATION")
      ->type_name("LENGTH")
      ->default_str("64")
      ->group(kWhat);
  AddParsed(app, "--max-tokens", workload.max_tokens, ParseLengths,
            "Output tokens of a request, at most; in the same ways")
      ->type_name("LENGTH")
      ->default_str("64")
      ->group(kWhat);
  app.add_option("--shared-prefix-tokens", workload.shared_prefix_tokens,
                 "Every conversation begins with a text of so many tokens that others begin with "
                 "too; --prompt-tokens come after it")
      ->type_name("N")
      ->group(kWhat);
  app.add_option("--shared-prefixes", workload.shared_prefixes,
                 "Number of such texts, drawn evenly")
      ->type_name("N")
      ->capture_default_str()
      ->group(kWhat);
  AddParsed(
      app, "--turns", workload.turns, ParseLengths,
      "Turns of a conversation, each with what was said before, the server's answers included: "
      "N or a distribution. --rate is of conversations, --requests of turns")
      ->type_name("LENGTH")
      ->default_str("1")
      ->group(kWhat);
  AddParsed(app, "--think-time", workload.think_time, ParseDuration,
            "From an answer to the next turn of the conversation")
      ->type_name("TIME")
      ->group(kWhat);
}

void AddGivenOptions(CLI::App& app, Workload& workload) {
  CLI::Option* generated = app.get_option("--prompt-tokens");
  CLI::Option* prompt = app.add_option("--prompt", workload.prompt, "The prompt of every request")
                            ->type_name("TEXT")
                            ->check(NotEmpty)
                            ->excludes(generated)
                            ->group(kWhat);
  app.add_option("--prompts", workload.prompts_path,
                 "Prompts of a file, in their order: JSON lines with \"prompt\" or \"messages\" "
                 "and perhaps \"max_tokens\"")
      ->type_name("FILE")
      ->check(NotEmpty)
      ->excludes(generated)
      ->excludes(prompt)
      ->group(kWhat);
}

void AddMixOptions(CLI::App& app, PlanOptions& options) {
  app.add_option("--profile", options.profiles,
                 "One of several kinds of requests: name=chat,weight=3,prompt-tokens=200-400,"
                 "turns=4; the keys are the options above, which also say what a profile does not. "
                 "May be repeated")
      ->type_name("KEY=VALUE,...")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(kWhat);
  AddParsed(
      app, "--hostile", options.hostile, ParseHostileMix,
      "Shares of requests that misbehave: cancel=5%,stall=2%,malformed=1%; cancel-after=N and "
      "stall-after=N say after how many tokens (drawn up to half of --max-tokens), stall-time "
      "how long reading stops (5s)")
      ->type_name("KIND=SHARE,...")
      ->group(kWhat);
  app.add_option(
         "--max-prompt-tokens", options.max_prompt_tokens,
         "Drawn prompt lengths are cut to this; requests of a trace with longer prompts are "
         "left out, and counted")
      ->type_name("N")
      ->group(kWhat);
  app.add_option("--vocabulary-size", options.vocabulary_size,
                 "Send prompts as token ids, of a vocabulary of this size: exact lengths, for "
                 "servers that take them (without: as words, about one token each)")
      ->type_name("N")
      ->group(kWhat);
  app.add_option("--seed", options.seed,
                 "Decides everything that is drawn: the same seed and "
                 "options send the same requests at the same times")
      ->type_name("N")
      ->capture_default_str()
      ->group(kWhat);
}

void AddTraceOptions(CLI::App& app, PlanOptions& options) {
  const std::string group = "Traces";
  CLI::Option* trace =
      app.add_option("--trace", options.trace.path,
                     "Replay recorded traffic, its arrivals and lengths: a Mooncake trace (JSON "
                     "lines; prefixes are shared as its block hashes say) or Azure's CSV. With "
                     "--rate or --concurrency, its lengths alone")
          ->type_name("FILE")
          ->group(group);
  for (const char* name : {"--prompt-tokens", "--max-tokens", "--shared-prefix-tokens", "--turns",
                           "--prompt", "--prompts", "--profile"}) {
    trace->excludes(app.get_option(name));
  }
  app.add_option("--trace-time-scale", options.trace.time_scale,
                 "Multiplies the trace's times: 0.5 sends twice as fast")
      ->type_name("S")
      ->capture_default_str()
      ->needs(trace)
      ->group(group);
  app.add_option("--trace-length-scale", options.trace.length_scale,
                 "Multiplies its input and output lengths, shared prefixes included")
      ->type_name("S")
      ->capture_default_str()
      ->needs(trace)
      ->group(group);
  AddParsed(app, "--trace-begin", options.trace.begin, ParseDuration,
            "Leave out what was recorded before this time of the trace")
      ->type_name("TIME")
      ->needs(trace)
      ->group(group);
  AddParsed(app, "--trace-duration", options.trace.duration, ParseDuration,
            "Replay so much of the trace, in its own time")
      ->type_name("TIME")
      ->needs(trace)
      ->group(group);
}

}  // namespace

void AddPlanOptions(CLI::App& app, PlanOptions& options) {
  AddArrivalOptions(app, options);
  AddGeneratedOptions(app, options.workload);
  AddGivenOptions(app, options.workload);
  AddMixOptions(app, options);
  AddTraceOptions(app, options);
}

}  // namespace weft
