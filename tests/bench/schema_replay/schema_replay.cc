// Replays the instances of MaskBench or of JSON-Schema-Test-Suite through the languages of their
// schemas:
//
//   schema_replay PATH [--every N] [--compact] [--free-order] [--failures]
//                 [--vocabulary FILE [--write-tokens FILE]]
//
// PATH is a file or a folder, of which every Nth schema is taken. Instances are written as
// MaskBench's runner writes them, with a space behind ',' and ':' (--compact: without).
//
// Byte by byte: where properties have an order, an instance that the order alone refuses is written
// again in the order of the schema (--free-order: they have none). An invalid instance must be
// refused in every order, as far as there is time to try them.
//
// With a vocabulary (a GGUF file, or a folder with a tokenizer's files): token by token as they
// stand, each with its mask. --write-tokens: the instances' tokens, for
// tests/tools/measure_llguidance.py.
//
// A schema passes if it compiles and all its instances go as they should; --failures names those
// that do not.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

#include "grammar/schema/json_schema.h"
#include "tests/bench/schema_replay/instance_writer.h"
#include "tests/bench/schema_replay/replay_files.h"
#include "tests/bench/schema_replay/token_replay.h"

namespace weft {
namespace {

struct Settings {
  std::string path;
  size_t every = 1;
  bool is_compact = false;
  bool free_order = false;
  bool names_failures = false;
  std::string vocabulary;    // empty: byte by byte
  std::string write_tokens;  // empty: nowhere
};

// What is replayed by tokens.
struct TokenSettings {
  ReplayVocabulary vocabulary;
  std::optional<std::ofstream> written;
};

struct Totals {
  int passed = 0;
  int failed = 0;
  int without_instances = 0;  // compiled, and nothing to replay
  int refused_without_instances = 0;
  std::map<std::string, int> refused;  // schemas with instances, by keyword
  int instances_passed = 0;
  int instances_of_refused = 0;
  int wrongly_accepted = 0;
  int wrongly_refused = 0;
  int undecided = 0;  // refused as they stand, and in as many orders as were tried
  int in_another_order = 0;
  int beyond_limits = 0;  // schemas whose machine has come to one
  int64_t byte_count = 0;
  double replay_seconds = 0;
  std::vector<double> compile_ms;
  std::vector<double> start_ms;  // of a recognizer for an instance
  MaskTimes masks;
};

WriteOutcome ReplayBytes(const ReplayInstance& instance, JsonMachine& machine,
                         const Settings& settings, Totals& totals) {
  const auto write = [&](bool any_order) {
    InstanceWriter writer(machine, {.is_spaced = !settings.is_compact, .any_order = any_order});
    const WriteOutcome outcome = writer.Write(instance.value);
    totals.byte_count += writer.byte_count();
    return outcome;
  };
  WriteOutcome outcome = write(/*any_order=*/false);
  if (outcome == WriteOutcome::kRefused && !settings.free_order) {
    outcome = write(/*any_order=*/true);
    totals.in_another_order += outcome == WriteOutcome::kAccepted ? 1 : 0;
  }
  return outcome;
}

WriteOutcome ReplayInTokens(const ReplaySchema& schema, const ReplayInstance& instance,
                            JsonMachine& machine, const Settings& settings, TokenSettings& by_token,
                            Totals& totals) {
  const std::string text = InstanceText(instance.value, !settings.is_compact);
  const auto tokens = by_token.vocabulary.TokensOf(text);
  if (!tokens) return WriteOutcome::kUndecided;
  if (by_token.written) {
    *by_token.written << nlohmann::json{{"schema", schema.name},
                                        {"valid", instance.is_valid},
                                        {"tokens", *tokens}}
                      << '\n';
  }
  totals.byte_count += static_cast<int64_t>(text.size());
  return ReplayTokens(by_token.vocabulary, *tokens, machine, schema.name, totals.masks)
             ? WriteOutcome::kAccepted
             : WriteOutcome::kRefused;
}

// Whether the instance goes as it should.
bool ReplayInstanceOf(const ReplaySchema& schema, const ReplayInstance& instance,
                      const JsonSchema& compiled, const Settings& settings,
                      std::optional<TokenSettings>& by_token, Totals& totals) {
  const double start = ThreadSeconds();
  const std::unique_ptr<JsonMachine> machine =
      compiled.NewMachine({.any_order = settings.free_order});
  machine->Start();
  totals.start_ms.push_back((ThreadSeconds() - start) * 1e3);
  const WriteOutcome outcome =
      by_token ? ReplayInTokens(schema, instance, *machine, settings, *by_token, totals)
               : ReplayBytes(instance, *machine, settings, totals);
  if (const auto status = machine->status(); !status) {
    ++totals.beyond_limits;
    if (settings.names_failures) {
      fmt::print("limit: {}: {}\n", schema.name, status.error().message);
    }
  }
  std::string_view failure;
  if (outcome == WriteOutcome::kUndecided) {
    ++totals.undecided;
    if (instance.is_valid) failure = "undecided";  // an invalid one was refused as it stands
  } else if (outcome == WriteOutcome::kAccepted && !instance.is_valid) {
    ++totals.wrongly_accepted;
    failure = "wrongly accepted";
  } else if (outcome == WriteOutcome::kRefused && instance.is_valid) {
    ++totals.wrongly_refused;
    failure = "wrongly refused";
  }
  if (settings.names_failures && !failure.empty()) {
    fmt::print("{}: {}: {}: {}\n", failure, schema.name, instance.name, instance.value.dump());
  }
  return failure.empty();
}

void ReplaySchemaOf(const ReplaySchema& schema, const Settings& settings,
                    std::optional<TokenSettings>& by_token, Totals& totals) {
  const std::string text = schema.schema.dump();
  const double start = ThreadSeconds();
  const auto compiled =
      JsonSchema::Compile(nlohmann::ordered_json::parse(text), {.default_draft = schema.draft});
  const double end = ThreadSeconds();
  totals.compile_ms.push_back((end - start) * 1e3);
  if (!compiled) {
    if (settings.names_failures) {
      fmt::print("refused: {}: {}\n", schema.name, ToError(compiled.error()).message);
    }
    if (schema.instances.empty()) {
      ++totals.refused_without_instances;
    } else {
      ++totals.refused[compiled.error().keyword];
      totals.instances_of_refused += static_cast<int>(schema.instances.size());
    }
    return;
  }
  int passed = 0;
  for (const ReplayInstance& instance : schema.instances) {
    passed += ReplayInstanceOf(schema, instance, *compiled, settings, by_token, totals) ? 1 : 0;
  }
  totals.replay_seconds += ThreadSeconds() - end;
  totals.instances_passed += passed;
  if (schema.instances.empty()) {
    ++totals.without_instances;
  } else if (passed == static_cast<int>(schema.instances.size())) {
    ++totals.passed;
  } else {
    ++totals.failed;
  }
}

double Percent(int part, int whole) { return whole == 0 ? 0 : 100.0 * part / whole; }

void PrintTimes(std::string_view what, std::vector<double> times) {
  if (times.empty()) return;
  std::ranges::sort(times);
  double sum = 0;
  for (const double time : times) sum += time;
  const auto at = [&](double share) {
    return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
  };
  fmt::print(
      "{} of thread time: {} times, average {:.3f}, p50 {:.3f}, p90 {:.3f}, p99 {:.3f}, "
      "p99.9 {:.3f}, worst {:.3f}\n",
      what, times.size(), sum / static_cast<double>(times.size()), at(0.5), at(0.9), at(0.99),
      at(0.999), times.back());
}

void PrintReport(const ReplayFiles& files, Totals totals) {
  int refused = 0;
  for (const auto& [keyword, count] : totals.refused) refused += count;
  const int schemas = totals.passed + totals.failed + refused;
  int instances = 0;
  for (const ReplaySchema& schema : files.schemas) {
    instances += static_cast<int>(schema.instances.size());
  }
  fmt::print("schemas with instances  {:6}\n", schemas);
  fmt::print("  pass                  {:6}  {:.2f}%\n", totals.passed,
             Percent(totals.passed, schemas));
  fmt::print("  fail                  {:6}\n", totals.failed);
  fmt::print("  refused               {:6}\n", refused);
  std::vector<std::pair<int, std::string>> by_count;
  for (const auto& [keyword, count] : totals.refused) by_count.emplace_back(-count, keyword);
  std::ranges::sort(by_count);
  for (const auto& [count, keyword] : by_count) {
    fmt::print("    {:22}{:4}\n", keyword.empty() ? "(the whole)" : keyword, -count);
  }
  fmt::print("schemas without         {:6}, of them refused {}\n",
             totals.without_instances + totals.refused_without_instances,
             totals.refused_without_instances);
  fmt::print("instances               {:6}\n", instances);
  fmt::print("  as they should        {:6}  {:.2f}%\n", totals.instances_passed,
             Percent(totals.instances_passed, instances));
  fmt::print("  wrongly accepted      {:6}\n", totals.wrongly_accepted);
  fmt::print("  wrongly refused       {:6}\n", totals.wrongly_refused);
  fmt::print("  of refused schemas    {:6}\n", totals.instances_of_refused);
  fmt::print("  not tried in all orders {}\n", totals.undecided);
  fmt::print("  accepted in another order than the file's {}\n", totals.in_another_order);
  fmt::print("machines beyond a limit {:6}\n", totals.beyond_limits);
  PrintTimes("compile, ms", std::move(totals.compile_ms));
  PrintTimes("recognizer, ms", std::move(totals.start_ms));
  std::vector<double> mask_us;
  for (const float seconds : totals.masks.seconds) mask_us.push_back(seconds * 1e6);
  if (!mask_us.empty()) {
    PrintTimes("mask, us", std::move(mask_us));
    fmt::print("the worst mask: {:.0f} us, {}\n", totals.masks.worst.seconds * 1e6,
               totals.masks.worst.place);
    const auto masks = static_cast<int>(totals.masks.seconds.size());
    fmt::print("masks of one token      {:6}  {:.2f}%\n", totals.masks.of_one_token,
               Percent(totals.masks.of_one_token, masks));
  }
  fmt::print("replay: {} bytes in {:.2f} s of thread time\n", totals.byte_count,
             totals.replay_seconds);
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("memory at most {} MB\n", usage.ru_maxrss / 1024);
  for (const std::string& file : files.left_out) fmt::print("left out: {}\n", file);
}

// What is replayed by tokens, if the settings ask for it.
Result<std::optional<TokenSettings>> LoadTokens(const Settings& settings) {
  if (settings.vocabulary.empty()) return std::optional<TokenSettings>();
  WEFT_ASSIGN_OR_RETURN(ReplayVocabulary vocabulary, ReplayVocabulary::Load(settings.vocabulary));
  std::optional<TokenSettings> by_token(TokenSettings{std::move(vocabulary), std::nullopt});
  if (!settings.write_tokens.empty()) by_token->written.emplace(settings.write_tokens);
  return by_token;
}

int Run(const Settings& settings) {
  Result<std::optional<TokenSettings>> by_token = LoadTokens(settings);
  if (!by_token) {
    fmt::print(stderr, "{}\n", by_token.error().message);
    return 2;
  }
  ReplayFiles files = LoadReplayFiles(settings.path);
  Totals totals;
  std::vector<ReplaySchema> taken;
  for (size_t i = 0; i < files.schemas.size(); i += settings.every) {
    taken.push_back(std::move(files.schemas[i]));
  }
  files.schemas = std::move(taken);
  for (const ReplaySchema& schema : files.schemas) {
    ReplaySchemaOf(schema, settings, *by_token, totals);
  }
  const bool is_sound = totals.wrongly_accepted == 0;
  PrintReport(files, std::move(totals));
  return is_sound ? 0 : 1;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  weft::Settings settings;
  bool is_understood = true;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--compact") {
      settings.is_compact = true;
    } else if (argument == "--free-order") {
      settings.free_order = true;
    } else if (argument == "--failures") {
      settings.names_failures = true;
    } else if (argument == "--every" && has_value) {
      settings.every = static_cast<size_t>(std::max(1, std::atoi(argv[++i])));
    } else if (argument == "--vocabulary" && has_value) {
      settings.vocabulary = argv[++i];
    } else if (argument == "--write-tokens" && has_value) {
      settings.write_tokens = argv[++i];
    } else if (settings.path.empty() && !argument.starts_with("--")) {
      settings.path = argument;
    } else {
      is_understood = false;
    }
  }
  if (settings.path.empty() || !is_understood) {
    fmt::print(stderr,
               "schema_replay PATH [--every N] [--compact] [--free-order] [--failures] "
               "[--vocabulary FILE [--write-tokens FILE]]\n");
    return 2;
  }
  return weft::Run(settings);
}
