#include "server/commands/doctor/doctor_command.h"

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/resources.h"
#include "base/thread_pool.h"
#include "proto/json_dump.h"
#include "server/commands/bench/report.h"
#include "server/commands/command_line.h"
#include "server/commands/doctor/diagnosis.h"
#include "server/commands/doctor/machine_facts.h"
#include "server/metrics/machine_limits.h"
#include "server/version.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

struct DoctorOptions {
  bool measures = true;
  bool json = false;
  int32_t seconds = 60;
  int32_t thread_count = 0;
};

constexpr int kLimitCount = 4;  // reads, and three kinds of products

MachineLimits MeasureMachine(const DoctorOptions& options, int thread_count, Isa isa) {
  const bool has_terminal = isatty(STDERR_FILENO) == 1;
  if (has_terminal) fmt::print(stderr, "measures the machine, for {} s at most", options.seconds);
  ThreadPool threads(thread_count);
  const MeasuringEffort effort{.each =
                                   std::chrono::milliseconds(options.seconds * 1000) / kLimitCount};
  const MachineLimits limits = MeasureLimits(threads, isa, effort);
  if (has_terminal) fmt::print(stderr, "\r\033[K");
  return limits;
}

// What the limits come to, for a model of which a token reads this much.
std::string WhatIsPossible(const MachineLimits& limits) {
  constexpr double kGigabyte = 1e9;
  constexpr double kBillion = 1e9;
  const double writes = limits.read_bytes_per_s / kGigabyte;
  const PeakRate& products = limits.int8.operations_per_s > 0 ? limits.int8 : limits.float32;
  const double reads = products.operations_per_s / (2 * kBillion);
  return fmt::format(
      "at most: {:.1f} tokens/s alone for each GB of weights that a token reads ({:.1f} for 2 GB), "
      "and {:.0f} tokens/s of a prompt for a billion parameters ({:.0f} for 4 billion)\n"
      "`weft bench --model FILE` measures a model against these limits\n",
      writes, writes / 2, reads, reads / 4);
}

ordered_json ToJson(const MachineLimits& limits) {
  ordered_json json = {{"read_bytes_per_s", limits.read_bytes_per_s}};
  const auto add = [&](const char* name, const PeakRate& rate) {
    if (rate.operations_per_s == 0) return;
    json[name] = {{"operations_per_s", rate.operations_per_s}, {"instructions", rate.name}};
  };
  add("int8", limits.int8);
  add("bf16", limits.bf16);
  add("float32", limits.float32);
  return json;
}

Result<void> Examine(const DoctorOptions& options) {
  const CpuFeatures cpu = DetectCpu();
  WEFT_ASSIGN_OR_RETURN(const Isa isa, ChooseIsa());
  const MachineFacts facts = ReadMachineFacts();
  const std::vector<Finding> findings = Diagnose(facts, cpu, isa);
  const int threads = options.thread_count > 0 ? options.thread_count : AvailableCpuCount();
  if (options.json) {
    ordered_json report = {{"version", Version()}, {"isa", NameOf(isa)}, {"threads", threads}};
    for (const Finding& finding : findings) {
      report["findings"].push_back(
          {{"kind", NameOf(finding.kind)}, {"about", finding.about}, {"text", finding.text}});
    }
    if (options.measures) report["limits"] = ToJson(MeasureMachine(options, threads, isa));
    fmt::print("{}\n", DumpJson(report));
    return {};
  }
  for (const Finding& finding : findings) {
    fmt::print("{:<8} {:<10} {}\n", NameOf(finding.kind), finding.about, finding.text);
  }
  std::fflush(stdout);
  if (!options.measures) return {};
  const MachineLimits limits = MeasureMachine(options, threads, isa);
  fmt::print("\n{}{}", FormatLimits(limits, threads), WhatIsPossible(limits));
  return {};
}

}  // namespace

int DoctorCommand(int argc, const char* const* argv) {
  DoctorOptions options;
  CLI::App app(
      "Says what this machine offers models, and what would make it faster; then measures how fast "
      "it reads memory and multiplies.",
      "weft doctor");
  app.add_flag_callback(
      "--no-measure", [&options] { options.measures = false; }, "Nothing is measured");
  app.add_option("--seconds", options.seconds, "How long is measured, at most")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
  app.add_option("--threads", options.thread_count, "To measure with (what this process may use)")
      ->check(CLI::Range(1, 4096));
  app.add_flag("--json", options.json, "One JSON object");
  if (const auto status = ParseOrExit(app, argc, argv)) return *status;
  const Result<void> examined = Examine(options);
  return examined ? 0 : FailCommand(app, examined.error());
}

}  // namespace weft
