// The figures of a run that sweeps and comparisons follow.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "loadtest/report/load_report.h"
#include "loadtest/report/svg_plot.h"
#include "loadtest/sweep/confidence.h"

namespace weft {

struct RunFigure {
  std::string_view key;  // in options
  std::string_view title;
  PlotUnit unit = PlotUnit::kNumber;
  bool more_is_better = false;
  // Nothing: the run has no such figure.
  std::optional<double> (*value)(const LoadReport& report) = nullptr;
};

// output_tokens_per_s or texts_per_s, requests_per_s, goodput_per_s, error_rate, and ttft_p50,
// ttft_p99, ... of tpot, itl, e2e too. Throughput is the steady state's where that covers half of
// the run or more.
const std::vector<RunFigure>& RunFigures();

// Requires that it exists.
const RunFigure& FigureOf(std::string_view key);

// The one that says how much the server does: its run's texts where it generates none, else tokens.
const RunFigure& ThroughputOf(const LoadReport& run);

// "ttft_p50,itl_p99"
Result<std::vector<RunFigure>> ParseFigures(std::string_view text);

// Whether the run says something about the server, and not about the client alone.
bool IsValid(const LoadReport& run);

// The mean over runs, without those that are invalid or lack the figure.
Interval IntervalOf(const std::vector<LoadReport>& runs, const RunFigure& figure);

// In JSON and CSV: the key, with "_ms" if the figure is a time.
std::string NameOf(const RunFigure& figure);

// `samples`, `mean`, and of two or more `low` and `high`.
nlohmann::ordered_json ToJson(const Interval& interval);

// With the figure's unit: "12.3 ms", "1,234", "1%".
std::string FormatFigure(const RunFigure& figure, double value);

}  // namespace weft
