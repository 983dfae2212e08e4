#include "loadtest/sweep/run_figures.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "loadtest/report/format.h"

namespace weft {
namespace {

bool IsSteady(const LoadSummary& summary) {
  return summary.steady.end_s - summary.steady.begin_s >= summary.duration_s / 2;
}

template <bool kGenerates>
std::optional<double> OutputOf(const LoadReport& report) {
  const LoadSummary& summary = report.summary;
  if (summary.generates != kGenerates) return std::nullopt;
  return IsSteady(summary) ? OutputPerSecond(summary.steady, kGenerates)
                           : OutputPerSecond(summary.all, kGenerates);
}

std::optional<double> RequestsPerSecond(const LoadReport& report) {
  const LoadSummary& summary = report.summary;
  return IsSteady(summary) ? summary.steady.requests_per_s : summary.all.requests_per_s;
}

std::optional<double> GoodputPerSecond(const LoadReport& report) {
  if (!report.goodput) return std::nullopt;
  return report.goodput->requests_per_s;
}

std::optional<double> ErrorRate(const LoadReport& report) {
  const GroupSummary& all = report.summary.all;
  if (all.succeeded + all.failed == 0) return std::nullopt;
  return all.error_rate();
}

template <Metric kMetric, double Distribution::*kStatistic>
std::optional<double> Latency(const LoadReport& report) {
  const Distribution& d = report.summary.all.latencies[kMetric];
  if (d.sample_count == 0) return std::nullopt;
  return d.*kStatistic;
}

template <Metric kMetric>
constexpr auto kP50 = Latency<kMetric, &Distribution::p50>;
template <Metric kMetric>
constexpr auto kP99 = Latency<kMetric, &Distribution::p99>;

}  // namespace

const std::vector<RunFigure>& RunFigures() {
  constexpr PlotUnit kMs = PlotUnit::kMilliseconds;
  static const std::vector<RunFigure> kFigures = {
      {"output_tokens_per_s", "output tokens/s", PlotUnit::kNumber, true, OutputOf<true>},
      {"texts_per_s", "texts/s", PlotUnit::kNumber, true, OutputOf<false>},
      {"requests_per_s", "requests/s", PlotUnit::kNumber, true, RequestsPerSecond},
      {"goodput_per_s", "goodput, requests/s", PlotUnit::kNumber, true, GoodputPerSecond},
      {"ttft_p50", "TTFT p50", kMs, false, kP50<Metric::kFirstToken>},
      {"ttft_p99", "TTFT p99", kMs, false, kP99<Metric::kFirstToken>},
      {"tpot_p50", "TPOT p50", kMs, false, kP50<Metric::kPerToken>},
      {"tpot_p99", "TPOT p99", kMs, false, kP99<Metric::kPerToken>},
      {"itl_p50", "ITL p50", kMs, false, kP50<Metric::kInterToken>},
      {"itl_p99", "ITL p99", kMs, false, kP99<Metric::kInterToken>},
      {"e2e_p50", "E2E p50", kMs, false, kP50<Metric::kEndToEnd>},
      {"e2e_p99", "E2E p99", kMs, false, kP99<Metric::kEndToEnd>},
      {"error_rate", "errors", PlotUnit::kShare, false, ErrorRate},
  };
  return kFigures;
}

const RunFigure& FigureOf(std::string_view key) {
  const auto& figures = RunFigures();
  const auto found = std::find_if(figures.begin(), figures.end(),
                                  [&](const RunFigure& figure) { return figure.key == key; });
  WEFT_CHECK(found != figures.end());
  return *found;
}

const RunFigure& ThroughputOf(const LoadReport& run) {
  return FigureOf(run.summary.generates ? "output_tokens_per_s" : "texts_per_s");
}

Result<std::vector<RunFigure>> ParseFigures(std::string_view text) {
  std::vector<RunFigure> chosen;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view key = text.substr(0, comma);
    const auto& figures = RunFigures();
    const auto found = std::find_if(figures.begin(), figures.end(),
                                    [&](const RunFigure& figure) { return figure.key == key; });
    if (found == figures.end()) {
      std::string keys;
      for (const RunFigure& figure : figures) keys.append(keys.empty() ? "" : ", ") += figure.key;
      return Fail(ErrorCode::kInvalidArgument, "figure '{}': expected one of {}", key, keys);
    }
    chosen.push_back(*found);
    if (comma == std::string_view::npos) return chosen;
    text.remove_prefix(comma + 1);
  }
}

bool IsValid(const LoadReport& run) { return run.summary.client.invalid.empty(); }

Interval IntervalOf(const std::vector<LoadReport>& runs, const RunFigure& figure) {
  std::vector<double> samples;
  for (const LoadReport& run : runs) {
    const auto value = IsValid(run) ? figure.value(run) : std::nullopt;
    if (value) samples.push_back(*value);
  }
  return MeanInterval(samples);
}

std::string NameOf(const RunFigure& figure) {
  return std::string(figure.key) + (figure.unit == PlotUnit::kMilliseconds ? "_ms" : "");
}

nlohmann::ordered_json ToJson(const Interval& interval) {
  nlohmann::ordered_json json = {{"samples", interval.sample_count}, {"mean", interval.mean}};
  if (interval.sample_count > 1) {
    json["low"] = interval.low;
    json["high"] = interval.high;
  }
  return json;
}

std::string FormatFigure(const RunFigure& figure, double value) {
  switch (figure.unit) {
    case PlotUnit::kMilliseconds:
      return FormatDuration(value);
    case PlotUnit::kShare:
      return FormatPercent(value);
    case PlotUnit::kSeconds:
      return FormatDuration(value * 1000);
    case PlotUnit::kNumber:
      break;
  }
  return FormatNumber(value);
}

}  // namespace weft
