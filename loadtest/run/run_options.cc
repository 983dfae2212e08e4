#include "loadtest/run/run_options.h"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <map>
#include <string_view>

#include <CLI/CLI.hpp>

namespace weft {
namespace {

constexpr int32_t kMostTexts = 100'000;

// "20" requests or "10s".
void ParseWarmup(std::string_view text, RunOptions& options) {
  const bool is_time = text.ends_with('s');
  const char* end = text.data() + text.size() - (is_time ? 1 : 0);
  std::from_chars_result parsed{};
  if (is_time) {
    parsed = std::from_chars(text.data(), end, options.warmup_s);
  } else {
    parsed = std::from_chars(text.data(), end, options.warmup_requests);
  }
  const bool in_range = options.warmup_requests >= 0 && options.warmup_s >= 0 &&
                        options.warmup_s <= 86400;  // nor NaN
  if (parsed.ec != std::errc() || parsed.ptr != end || !in_range) {
    throw CLI::ValidationError("--warmup", "'" + std::string(text) +
                                               "' is neither a number of requests nor a time of "
                                               "at most 86400s");
  }
}

// "20" or "all".
int64_t ParseVerify(std::string_view text) {
  if (text == "all") return -1;
  int64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || stop != end || count < 0) {
    throw CLI::ValidationError(
        "--verify", "'" + std::string(text) + "' is neither a number of requests nor 'all'");
  }
  return count;
}

// --NAME and --no-NAME. (CLI11 has flags of two names, whose help shows what the second one sets:
// "--no-NAME{false}".)
void AddSwitch(CLI::App& app, const std::string& name, bool& value, const std::string& on,
               const std::string& off) {
  auto* const yes = app.add_flag_callback(
      "--" + name, [&value] { value = true; }, on);
  app.add_flag_callback(
         "--no-" + name, [&value] { value = false; }, off)
      ->excludes(yes);
}

void AddServerOptions(CLI::App& app, RunOptions& options) {
  app.add_option("--url", options.url,
                 "The server: http://HOST:PORT, https://HOST:PORT or unix:/PATH")
      ->type_name("URL")
      ->capture_default_str();
  app.add_option("--model", options.model, "Model to ask for; by default the first one listed")
      ->type_name("NAME");
  app.add_option("--api-key", options.api_key, "Sent as a bearer token")
      ->type_name("KEY")
      ->envname("WEFT_API_KEY");
  app.add_option("--header", options.headers, "Sent with every request: 'Name: value'; repeatable")
      ->type_name("'NAME: VALUE'")
      ->allow_extra_args(false);
  app.add_flag("--insecure", options.insecure, "Take any certificate of an https server");
  app.add_option("--ca-file", options.ca_file, "PEM file of the authorities to trust with https")
      ->type_name("FILE")
      ->check(CLI::Validator(CLI::ExistingFile).description(""));
  app.add_option("--timeout", options.timeout_s, "Seconds that one request may take")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 86400.0).description(""))
      ->capture_default_str();
  app.add_option("--max-connections", options.max_connections,
                 "Connections at a time; requests wait for a free one (default: no limit)")
      ->type_name("N")
      ->check(CLI::Range(0, std::numeric_limits<int32_t>::max()).description(""));
}

void AddRequestOptions(CLI::App& app, RunOptions& options) {
  static const std::map<std::string, Endpoint> kEndpoints = {
      {"completions", Endpoint::kCompletions},
      {"chat", Endpoint::kChat},
      {"embeddings", Endpoint::kEmbeddings},
      {"rerank", Endpoint::kRerank}};
  app.add_option("--endpoint", options.endpoint, "completions, chat, embeddings or rerank")
      ->type_name("NAME")
      ->transform(CLI::CheckedTransformer(kEndpoints).description(""))
      ->default_str("completions");
  app.add_option("--texts-per-request", options.texts_per_request,
                 "Texts of a request for embeddings (1)")
      ->type_name("N")
      ->check(CLI::Range(1, kMostTexts).description(""));
  app.add_option("--documents-per-request", options.documents_per_request,
                 "Documents of a request for a ranking (10)")
      ->type_name("N")
      ->check(CLI::Range(1, kMostTexts).description(""));
  AddSwitch(app, "stream", options.stream, "Stream the answers (the default)", "Take them whole");
  app.add_option("--temperature", options.temperature, "0 is greedy: the likeliest token each time")
      ->type_name("T")
      ->check(CLI::Validator(CLI::NonNegativeNumber).description(""))
      ->capture_default_str();
  app.add_flag("--ignore-eos", options.ignore_eos,
               "Ask for all tokens up to the limit (not every server can)");
  app.add_option("--extra-body", options.extra_body,
                 "JSON object whose members every request's body gets")
      ->type_name("JSON");
}

}  // namespace

int32_t TextsPerRequest(const RunOptions& options) {
  constexpr int32_t kDefaultDocuments = 10;
  if (options.endpoint == Endpoint::kEmbeddings) return options.texts_per_request.value_or(1);
  if (options.endpoint != Endpoint::kRerank) return 0;
  return options.documents_per_request.value_or(kDefaultDocuments);
}

void AddRunOptions(CLI::App& app, RunOptions& options) {
  AddServerOptions(app, options);
  AddRequestOptions(app, options);
  app.add_option_function<std::string>(
         "--warmup", [&options](const std::string& text) { ParseWarmup(text, options); },
         "Requests (20) or time (10s) before the run, not recorded; with prompts of their own, "
         "unless "
         "the prompts are given")
      ->type_name("N|TIME");
  app.add_option_function<std::string>(
         "--verify",
         [&options](const std::string& text) { options.verify_count = ParseVerify(text); },
         "Compare the output of so many requests, or all, with that of the same request alone")
      ->type_name("N|all");
  app.add_option("--max-lag", options.max_lag_ms,
                 "Milliseconds that the client may be late; if it is later for more than 1% of the "
                 "run, or of "
                 "the requests that have a time, the run is invalid")
      ->type_name("MS")
      ->check(CLI::Validator(CLI::NonNegativeNumber).description(""))
      ->capture_default_str();
  app.add_option("--max-cpu", options.max_cpu_share,
                 "Share of a core that the client may use; beyond, the run is invalid")
      ->type_name("SHARE")
      ->check(CLI::Validator(CLI::NonNegativeNumber).description(""))
      ->capture_default_str();
  AddSwitch(app, "progress", options.progress, "A line about the run on stderr (the default)",
            "No such line");
}

}  // namespace weft
