#include "server/commands/bench/report.h"

#include <string_view>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMilli = 1e3;
constexpr double kPercent = 100;

std::string_view NameOf(Bound bound) { return bound == Bound::kMemory ? "memory" : "compute"; }

double TotalSeconds(const StepProfile& profile) {
  double total = 0;
  for (const auto time : profile.times) total += SecondsOf(time);
  return total;
}

template <typename Visit>
void VisitOperators(const BenchRow& row, const Visit& visit) {
  const double total = TotalSeconds(*row.profile);
  for (size_t i = 0; i < kOperatorCount; ++i) {
    const double seconds = SecondsOf(row.profile->times[i]);
    if (seconds == 0) continue;  // not of this model
    visit(NameOf(static_cast<Operator>(i)),
          seconds * kMilli / static_cast<double>(row.profiled_steps), seconds / total);
  }
}

void AddMixed(const MixedFigures& mixed, Json& json) {
  json["prompt_tokens"] = mixed.prompt_tokens;
  json["max_stall_ms"] = mixed.max_stall_ms;
  json["worst_gap_ms"] = mixed.worst_gap_s * kMilli;
  json["median_gap_ms"] = mixed.median_gap_s * kMilli;
  json["undisturbed_gap_ms"] = mixed.undisturbed_gap_s * kMilli;
  json["first_token_ms"] = mixed.first_token_s * kMilli;
  json["prompt_tokens_per_s"] = mixed.prompt_tokens_per_s;
}

void AddLimits(const MachineLimits& limits, Json& json) {
  json["dram_read_gb_per_s"] = limits.read_bytes_per_s * 1e-9;
  const auto add = [&](const char* name, const PeakRate& rate) {
    if (rate.operations_per_s == 0) return;
    json[name] = {{"instructions", rate.name},
                  {"giga_operations_per_s", rate.operations_per_s * 1e-9}};
  };
  add("float32", limits.float32);
  add("bf16", limits.bf16);
  add("int8", limits.int8);
}

std::string FormatMixed(const MixedFigures& mixed) {
  return fmt::format(
      "  a prompt of {} tokens: first token after {:.0f} ms, {:.1f} tokens/s; the streams' gaps "
      "{:.1f} "
      "ms before it, {:.1f} during it, {:.1f} at worst\n",
      mixed.prompt_tokens, mixed.first_token_s * kMilli, mixed.prompt_tokens_per_s,
      mixed.undisturbed_gap_s * kMilli, mixed.median_gap_s * kMilli, mixed.worst_gap_s * kMilli);
}

}  // namespace

double SecondsOf(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::string FormatJson(const BenchRow& row, const MachineLimits* limits) {
  Json json;
  json["test"] = row.test;
  json[row.test == "decode" ? "batch" : row.test == "mixed" ? "streams" : "tokens"] = row.size;
  if (row.encode) {
    json["texts"] = row.encode->texts;
    json["texts_per_s"] = row.encode->texts_per_s;
  }
  if (row.context) json["context"] = *row.context;
  json["tokens_per_s"] = row.tokens_per_s;
  json["ms_per_step"] = row.step_seconds * kMilli;
  json["spread"] = row.spread;
  json["repetitions"] = row.repetitions;
  if (row.floor) {
    json["floor_ms_per_step"] = row.floor->seconds * kMilli;
    json["limit"] = NameOf(row.floor->bound);
    json["limit_share"] = row.floor->seconds / row.step_seconds;
  }
  if (row.mixed) AddMixed(*row.mixed, json);
  if (limits != nullptr) AddLimits(*limits, json["machine"]);
  if (row.profile) {
    VisitOperators(row, [&](std::string_view name, double milliseconds, double share) {
      json["profile"][std::string(name)] = {{"ms_per_step", milliseconds}, {"share", share}};
    });
  }
  return json.dump();
}

std::string FormatLimits(const MachineLimits& limits, int thread_count) {
  std::string text = fmt::format("limits of {} threads: DRAM read {:.1f} GB/s", thread_count,
                                 limits.read_bytes_per_s * 1e-9);
  const auto add = [&](std::string_view what, const PeakRate& rate) {
    if (rate.operations_per_s == 0) return;
    text += fmt::format("; {} {:.0f} G operations/s ({})", what, rate.operations_per_s * 1e-9,
                        rate.name);
  };
  add("int8 products", limits.int8);
  add("bf16 products", limits.bf16);
  add("float32 products", limits.float32);
  return text + "\n";
}

std::string FormatTableHead(bool with_floors) {
  std::string head = fmt::format("{:<8}{:>8}{:>9}{:>12}{:>8}{:>12}", "test", "size", "context",
                                 "tokens/s", "spread", "ms/step");
  if (with_floors) head += fmt::format("{:>12}{:>8}  {}", "floor ms", "share", "limit");
  return head + "\n";
}

std::string FormatTableRow(const BenchRow& row) {
  std::string text = fmt::format("{:<8}{:>8}{:>9}{:>12.1f}{:>7.0f}%{:>12.3f}", row.test, row.size,
                                 row.context ? std::to_string(*row.context) : "", row.tokens_per_s,
                                 row.spread * kPercent, row.step_seconds * kMilli);
  if (row.floor) {
    text += fmt::format("{:>12.3f}{:>7.0f}%  {}", row.floor->seconds * kMilli,
                        row.floor->seconds / row.step_seconds * kPercent, NameOf(row.floor->bound));
  }
  text += "\n";
  if (row.mixed) text += FormatMixed(*row.mixed);
  if (row.encode) {
    text += fmt::format("  {} texts at once: {:.1f} texts/s\n", row.encode->texts,
                        row.encode->texts_per_s);
  }
  if (row.profile) {
    VisitOperators(row, [&](std::string_view name, double milliseconds, double share) {
      text += fmt::format("  {:<35}{:>8.0f}%{:>12.3f}\n", name, share * kPercent, milliseconds);
    });
  }
  return text;
}

}  // namespace weft
