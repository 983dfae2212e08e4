#include "loadtest/sweep/compare_report.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "loadtest/report/format.h"
#include "loadtest/report/json_report.h"
#include "proto/json_dump.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string FormatChange(double share) {
  constexpr double kMost = 10;  // the interval of few rounds may end anywhere
  if (share > kMost) return "> " + FormatChange(kMost);
  return fmt::format("{}{}", share > 0 ? "+" : "", FormatPercent(share));
}

std::string DescribeVerdict(const FigureComparison& figure, double tolerance) {
  switch (figure.verdict) {
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "WORSE";
    case Verdict::kSame:
      return fmt::format("no difference beyond {}", FormatPercent(tolerance));
    case Verdict::kUnclear:
      break;
  }
  return figure.change.sample_count < 2 ? "no sample" : "unclear: more rounds may tell";
}

std::string CompareTable(const CompareResult& result, const CompareOptions& options, bool colour) {
  std::string text;
  const auto out = std::back_inserter(text);
  const auto styled = [&](const char* style, const std::string& words) {
    return colour ? fmt::format("\x1b[{}m{}\x1b[0m", style, words) : words;
  };
  if (!result.candidate.empty()) {
    fmt::format_to(out, "candidate   {}  {}\n", result.candidate[0].url,
                   Printable(result.candidate[0].model));
    fmt::format_to(out, "load        {}\n", result.candidate[0].plan);
  }
  if (!result.baseline.empty()) {
    fmt::format_to(out, "baseline    {}  {}\n", result.baseline[0].url,
                   Printable(result.baseline[0].model));
  }
  fmt::format_to(out, "rounds      {}, in the order A B, B A, ...\n\n", result.baseline.size());
  if (!result.invalid.empty()) {
    text += styled("1;31", "INVALID: " + result.invalid) + "\n\n";
  }
  fmt::format_to(out, "{:<21}{:>12}{:>12}{:>10}  {:<20}  {}\n", "", "candidate", "baseline",
                 "change", FormatPercent(result.confidence) + " interval", "verdict");
  for (const FigureComparison& figure : result.figures) {
    const std::string verdict = DescribeVerdict(figure, options.tolerance);
    const std::string styled_verdict = figure.verdict == Verdict::kWorse ? styled("1;31", verdict)
                                       : figure.verdict == Verdict::kBetter ? styled("32", verdict)
                                                                            : verdict;
    const auto row = [&](const std::string& candidate, const std::string& baseline,
                         const std::string& change, const std::string& interval) {
      fmt::format_to(out, "{:<21}{:>12}{:>12}{:>10}  {:<20}  {}\n", figure.figure.title, candidate,
                     baseline, change, interval, styled_verdict);
    };
    if (figure.change.sample_count == 0) {
      row("-", "-", "-", "");
      continue;
    }
    row(FormatFigure(figure.figure, figure.candidate.mean),
        FormatFigure(figure.figure, figure.baseline.mean), FormatChange(figure.change.mean),
        fmt::format("{} to {}", FormatChange(figure.change.low), FormatChange(figure.change.high)));
  }
  return text;
}

std::string CompareJson(const CompareResult& result, const CompareOptions& options) {
  Json figures = Json::object();
  for (const FigureComparison& figure : result.figures) {
    Json& json = figures[NameOf(figure.figure)];
    if (figure.change.sample_count > 0) {
      json["candidate"] = ToJson(figure.candidate);
      json["baseline"] = ToJson(figure.baseline);
      json["change"] = ToJson(figure.change);
    }
    json["more_is_better"] = figure.figure.more_is_better;
    json["verdict"] = VerdictName(figure.verdict);
  }
  Json runs = Json::object();
  for (const auto& [name, side] :
       {std::pair("candidate", &result.candidate), std::pair("baseline", &result.baseline)}) {
    runs[name] = Json::array();
    for (const LoadReport& run : *side) runs[name].push_back(Json::parse(JsonReport(run)));
  }
  Json json = {{"schema_version", kReportSchemaVersion},
               {"kind", "comparison"},
               {"tolerance", options.tolerance},
               {"confidence", result.confidence}};
  if (!result.invalid.empty()) json["invalid"] = result.invalid;
  json["worse"] = result.worse();
  json["figures"] = std::move(figures);
  json["runs"] = std::move(runs);
  return DumpJson(json) + "\n";
}

std::string CompareCsv(const CompareResult& result) {
  std::string csv = "round,side";
  for (const RunFigure& figure : RunFigures()) {
    csv += ',' + NameOf(figure);
  }
  csv += "\r\n";
  const auto add = [&](size_t round, const char* side, const std::vector<LoadReport>& runs) {
    if (round >= runs.size()) return;
    csv += fmt::format("{},{}", round + 1, side);
    for (const RunFigure& figure : RunFigures()) {
      const auto value = figure.value(runs[round]);
      csv += value ? fmt::format(",{:.6g}", *value) : ",";
    }
    csv += "\r\n";
  };
  for (size_t round = 0; round < std::max(result.candidate.size(), result.baseline.size());
       ++round) {
    add(round, "candidate", result.candidate);
    add(round, "baseline", result.baseline);
  }
  return csv;
}

}  // namespace weft
