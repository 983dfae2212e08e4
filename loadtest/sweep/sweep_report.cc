#include "loadtest/sweep/sweep_report.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "loadtest/report/format.h"
#include "loadtest/report/json_report.h"
#include "loadtest/sweep/run_figures.h"
#include "proto/json_dump.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto kColumns =
    std::to_array<std::string_view>({"output_tokens_per_s", "texts_per_s", "requests_per_s",
                                     "ttft_p50", "ttft_p99", "itl_p50", "itl_p99", "e2e_p99"});

std::string LoadUnit(const SweepOptions& options) {
  return options.open_loop ? "requests/s" : "users";
}

// Of the columns those that a load has a figure for.
std::vector<const RunFigure*> ColumnsOf(const SweepResult& result) {
  std::vector<const RunFigure*> columns;
  for (const std::string_view key : kColumns) {
    const RunFigure& figure = FigureOf(key);
    const bool is_known = std::ranges::any_of(result.steps, [&](const SweepStep& step) {
      return IntervalOf(step.runs, figure).sample_count > 0;
    });
    if (is_known) columns.push_back(&figure);
  }
  return columns;
}

// "342 ±12", or without what one repeat does not tell.
std::string MeanCell(const RunFigure& figure, const Interval& interval) {
  if (interval.sample_count == 0) return "-";
  std::string cell = FormatFigure(figure, interval.mean);
  const double half_width = interval.high - interval.mean;
  if (interval.sample_count > 1) cell += " ±" + FormatFigure(figure, half_width);
  return cell;
}

// Of UTF-8: ± is one.
size_t ColumnCount(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

std::string PadLeft(std::string_view text, size_t width) {
  const size_t count = ColumnCount(text);
  return std::string(count < width ? width - count : 0, ' ').append(text);
}

}  // namespace

std::string FormatLoad(double load) { return fmt::format("{:.4g}", load); }

std::vector<std::string> SweepFindings(const SweepResult& result, const SweepOptions& options) {
  std::vector<std::string> findings;
  const std::string unit = LoadUnit(options);
  if (result.steps.empty()) return findings;
  const double highest = result.steps.back().load;
  const auto last_valid = std::find_if(result.steps.rbegin(), result.steps.rend(), HasValidRun);
  if (result.knee) {
    findings.push_back(
        fmt::format("saturates at {} {}: more load brings no more throughput, within {:.0f}%",
                    FormatLoad(*result.knee), unit, (1 - kSaturatedShare) * 100));
  } else if (last_valid != result.steps.rend()) {
    const bool has_output =
        IntervalOf(last_valid->runs, ThroughputOf(last_valid->runs.front())).mean > 0;
    findings.push_back(has_output ? fmt::format("not saturated: the throughput still grew at {} {}",
                                                FormatLoad(last_valid->load), unit)
                                  : "no output at any load");
  }
  if (const int64_t count = InvalidRunCount(result); count > 0) {
    const int64_t blamed = BottleneckRunCount(result);
    const std::string whose = blamed == count ? "the client was the bottleneck there"
                              : blamed == 0   ? "others had the client's core there"
                                              : fmt::format(
                                                    "the client was the bottleneck in {}, "
                                                      "others had its core in the rest",
                                                    blamed);
    findings.push_back(
        fmt::format("{} run{} INVALID and in no figure: {}", count, count == 1 ? "" : "s", whose));
  }
  if (!options.seek_objectives) return findings;
  if (!result.highest_kept) {
    findings.push_back(fmt::format("keeps the objectives at no load: not even at {} {}",
                                   FormatLoad(result.steps.front().load), unit));
  } else if (result.limit_found) {
    findings.push_back(
        fmt::format("keeps the objectives up to {} {}", FormatLoad(*result.highest_kept), unit));
  } else {
    findings.push_back(
        fmt::format("keeps the objectives at every load, up to {} {}", FormatLoad(highest), unit));
  }
  return findings;
}

std::string SweepTable(const SweepResult& result, const SweepOptions& options, bool colour) {
  constexpr size_t kLoadWidth = 11, kWidth = 19;
  std::string text;
  if (!result.steps.empty()) {
    const LoadReport& run = result.steps.front().runs.front();
    text += fmt::format("server      {}  {}\ndate        {}\n\n", run.url, Printable(run.model),
                        FormatDate(run.date));
  }
  text += PadLeft(LoadUnit(options), kLoadWidth);
  const std::vector<const RunFigure*> columns = ColumnsOf(result);
  for (const RunFigure* figure : columns) text += PadLeft(figure->title, kWidth);
  text += "  errors\n";
  for (const SweepStep& step : result.steps) {
    text += PadLeft(FormatLoad(step.load), kLoadWidth);
    for (const RunFigure* figure : columns) {
      text += PadLeft(MeanCell(*figure, IntervalOf(step.runs, *figure)), kWidth);
    }
    const Interval errors = IntervalOf(step.runs, FigureOf("error_rate"));
    text += PadLeft(errors.sample_count > 0 ? FormatPercent(errors.mean) : "-", 8);
    if (options.seek_objectives) {
      const bool kept = KeepsObjectives(step);
      const std::string_view word = kept ? "kept" : "missed";
      text += colour ? fmt::format("  \x1b[{}m{}\x1b[0m", kept ? "32" : "1;31", word)
                     : fmt::format("  {}", word);
    }
    if (step.load == result.knee) text += "  <- knee";
    text += '\n';
  }
  text += '\n';
  for (const std::string& finding : SweepFindings(result, options)) text += finding + '\n';
  return text;
}

std::string SweepJson(const SweepResult& result, const SweepOptions& options) {
  Json steps = Json::array();
  for (const SweepStep& step : result.steps) {
    Json figures = Json::object();
    for (const RunFigure& figure : RunFigures()) {
      const Interval interval = IntervalOf(step.runs, figure);
      if (interval.sample_count == 0) continue;
      figures[NameOf(figure)] = ToJson(interval);
    }
    Json runs = Json::array();
    for (const LoadReport& run : step.runs) runs.push_back(Json::parse(JsonReport(run)));
    Json json = {{"load", step.load}, {"figures", figures}};
    if (options.seek_objectives) json["keeps_objectives"] = KeepsObjectives(step);
    json["runs"] = std::move(runs);
    steps.push_back(std::move(json));
  }
  Json json = {{"schema_version", kReportSchemaVersion},
               {"kind", "sweep"},
               {"load_unit", LoadUnit(options)},
               {"interrupted", result.interrupted},
               {"findings", SweepFindings(result, options)}};
  if (result.knee) json["knee"] = *result.knee;
  if (options.seek_objectives) {
    if (result.highest_kept) json["highest_kept"] = *result.highest_kept;
    json["limit_found"] = result.limit_found;
  }
  json["steps"] = std::move(steps);
  return DumpJson(json) + "\n";
}

std::string SweepCsv(const SweepResult& result, const SweepOptions& options) {
  std::string csv = options.open_loop ? "requests_per_s_offered" : "users";
  for (const RunFigure& figure : RunFigures()) {
    for (const char* part : {"", "_low", "_high"}) csv += ',' + NameOf(figure) + part;
  }
  csv += "\r\n";
  for (const SweepStep& step : result.steps) {
    csv += fmt::format("{:.6g}", step.load);
    for (const RunFigure& figure : RunFigures()) {
      const Interval interval = IntervalOf(step.runs, figure);
      if (interval.sample_count == 0) {
        csv += ",,,";
        continue;
      }
      fmt::format_to(std::back_inserter(csv), ",{:.6g},{:.6g},{:.6g}", interval.mean, interval.low,
                     interval.high);
    }
    csv += "\r\n";
  }
  return csv;
}

}  // namespace weft
