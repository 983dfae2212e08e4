// Replays the instances of MaskBench or of JSON-Schema-Test-Suite, byte by byte, through the
// languages of their schemas:
//
//   schema_replay PATH [--compact] [--free-order] [--failures]
//
// PATH is a file or a folder. Instances are written as MaskBench's runner writes them, with a space
// behind ',' and ':' (--compact: without). Where properties have an order, an instance that the
// order alone refuses is written again in the order of the schema (--free-order: they have none).
// An invalid instance must be refused in every order, as far as there is time to try them. A schema
// passes if it compiles and all its instances go as they should; --failures names those that do
// not.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <time.h>
#include <vector>

#include <fmt/format.h>

#include "grammar/schema/json_schema.h"
#include "tests/bench/schema_replay/instance_writer.h"
#include "tests/bench/schema_replay/replay_files.h"

namespace weft {
namespace {

struct Settings {
  std::string path;
  bool is_compact = false;
  bool free_order = false;
  bool names_failures = false;
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
};

double ThreadSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Whether the instance goes as it should.
bool ReplayInstanceOf(const ReplaySchema& schema, const ReplayInstance& instance,
                      Recognizer& recognizer, const Settings& settings, Totals& totals) {
  const auto write = [&](bool any_order) {
    InstanceWriter writer(recognizer, {.is_spaced = !settings.is_compact, .any_order = any_order});
    const WriteOutcome outcome = writer.Write(instance.value);
    totals.byte_count += writer.byte_count();
    return outcome;
  };
  WriteOutcome outcome = write(/*any_order=*/false);
  if (outcome == WriteOutcome::kRefused) {
    outcome = write(/*any_order=*/true);
    totals.in_another_order += outcome == WriteOutcome::kAccepted ? 1 : 0;
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

void ReplaySchemaOf(const ReplaySchema& schema, const Settings& settings, Totals& totals) {
  const double start = ThreadSeconds();
  const auto compiled = JsonSchema::Compile(schema.schema, {.default_draft = schema.draft});
  std::unique_ptr<JsonMachine> machine;
  if (compiled) {
    machine = compiled->NewMachine({.any_order = settings.free_order});
    machine->Start();
  }
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
    passed += ReplayInstanceOf(schema, instance, *machine, settings, totals) ? 1 : 0;
  }
  totals.replay_seconds += ThreadSeconds() - end;
  totals.instances_passed += passed;
  if (const auto status = machine->status(); !status) {
    ++totals.beyond_limits;
    if (settings.names_failures) {
      fmt::print("limit: {}: {}\n", schema.name, status.error().message);
    }
  }
  if (schema.instances.empty()) {
    ++totals.without_instances;
  } else if (passed == static_cast<int>(schema.instances.size())) {
    ++totals.passed;
  } else {
    ++totals.failed;
  }
}

double Percent(int part, int whole) { return whole == 0 ? 0 : 100.0 * part / whole; }

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
  std::vector<double>& times = totals.compile_ms;
  std::ranges::sort(times);
  if (!times.empty()) {
    const auto at = [&](double share) {
      return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
    };
    fmt::print("compile, ms of thread time: p50 {:.3f}, p90 {:.3f}, p99 {:.3f}, worst {:.3f}\n",
               at(0.5), at(0.9), at(0.99), times.back());
  }
  fmt::print("replay: {} bytes in {:.2f} s of thread time\n", totals.byte_count,
             totals.replay_seconds);
  for (const std::string& file : files.left_out) fmt::print("left out: {}\n", file);
}

int Run(const Settings& settings) {
  const ReplayFiles files = LoadReplayFiles(settings.path);
  Totals totals;
  for (const ReplaySchema& schema : files.schemas) ReplaySchemaOf(schema, settings, totals);
  const bool is_sound = totals.wrongly_accepted == 0;
  PrintReport(files, std::move(totals));
  return is_sound ? 0 : 1;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  weft::Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--compact") {
      settings.is_compact = true;
    } else if (argument == "--free-order") {
      settings.free_order = true;
    } else if (argument == "--failures") {
      settings.names_failures = true;
    } else if (settings.path.empty() && !argument.starts_with("--")) {
      settings.path = argument;
    } else {
      settings.path.clear();
      break;
    }
  }
  if (settings.path.empty()) {
    fmt::print(stderr, "schema_replay PATH [--compact] [--free-order] [--failures]\n");
    return 2;
  }
  return weft::Run(settings);
}
