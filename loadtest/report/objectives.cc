#include "loadtest/report/objectives.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/quoted.h"
#include "loadtest/plan/durations.h"
#include "loadtest/plan/numbers.h"

namespace weft {
namespace {

constexpr std::string_view kErrorRate = "error_rate";

struct Statistic {
  std::string_view name;
  double Distribution::*member;
};
constexpr auto kStatistics = std::to_array<Statistic>({{"mean", &Distribution::mean},
                                                       {"p50", &Distribution::p50},
                                                       {"p90", &Distribution::p90},
                                                       {"p95", &Distribution::p95},
                                                       {"p99", &Distribution::p99},
                                                       {"p99.9", &Distribution::p999},
                                                       {"p999", &Distribution::p999},
                                                       {"max", &Distribution::max}});

// A bare 500 would be seconds to one reader and milliseconds to another: a unit is required.
Result<double> ParseMilliseconds(std::string_view text) {
  if (text.find_last_of("0123456789.") == text.size() - 1) {
    return Fail(ErrorCode::kInvalidArgument, "{}: expected a time with a unit, such as 500ms",
                Quoted(text));
  }
  WEFT_ASSIGN_OR_RETURN(const std::chrono::nanoseconds time, ParseDuration(text));
  return std::chrono::duration<double, std::milli>(time).count();
}

const MetricInfo* FindMetric(std::string_view key) {
  const auto* const found = std::find_if(kMetrics.begin(), kMetrics.end(),
                                         [&](const MetricInfo& info) { return info.key == key; });
  return found == kMetrics.end() ? nullptr : found;
}

std::string MetricKeys() {
  std::string keys;
  for (const MetricInfo& info : kMetrics) keys.append(keys.empty() ? "" : ", ").append(info.key);
  return keys;
}

Result<Objective> ParseObjective(std::string_view name, std::string_view value) {
  Objective objective;
  objective.name = name;
  if (name == kErrorRate) {
    WEFT_ASSIGN_OR_RETURN(objective.limit, ParseShare(value));
    return objective;
  }
  const size_t cut = name.rfind('_');
  const MetricInfo* metric =
      cut == std::string_view::npos ? nullptr : FindMetric(name.substr(0, cut));
  if (metric == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                "objective '{}': expected METRIC_STATISTIC, METRIC one of {}, or error_rate", name,
                MetricKeys());
  }
  const std::string_view statistic = name.substr(cut + 1);
  const auto* const found =
      std::find_if(kStatistics.begin(), kStatistics.end(),
                   [&](const Statistic& candidate) { return candidate.name == statistic; });
  if (found == kStatistics.end()) {
    return Fail(ErrorCode::kInvalidArgument,
                "objective '{}': expected mean, p50, p90, p95, p99, p99.9 or max, found '{}'", name,
                statistic);
  }
  objective.metric = metric->metric;
  objective.statistic = found->member;
  WEFT_ASSIGN_OR_RETURN(objective.limit, ParseMilliseconds(value));
  return objective;
}

Result<RequestLimit> ParseRequestLimit(std::string_view name, std::string_view value) {
  const MetricInfo* metric = FindMetric(name);
  if (metric == nullptr || metric->metric == Metric::kInterToken) {
    return Fail(ErrorCode::kInvalidArgument,
                "goodput '{}': expected a time that a request has one of: ttft, tpot, e2e, ...",
                name);
  }
  WEFT_ASSIGN_OR_RETURN(const double limit_ms, ParseMilliseconds(value));
  return RequestLimit{metric->metric, limit_ms};
}

// The elements of "name=value,name=value", each parsed by `parse`.
template <typename T, typename Parse>
Result<std::vector<T>> ParseList(std::string_view text, Parse parse) {
  std::vector<T> list;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      return Fail(ErrorCode::kInvalidArgument, "'{}': expected NAME=LIMIT, found no '='", item);
    }
    WEFT_ASSIGN_OR_RETURN(T element, parse(item.substr(0, equals), item.substr(equals + 1)));
    list.push_back(std::move(element));
    if (comma == std::string_view::npos) return list;
    text.remove_prefix(comma + 1);
  }
}

bool Meets(const RequestRecord& record, const RequestLimit& limit) {
  const std::optional<double> latency = LatencyOf(record, limit.metric);
  if (latency) return *latency <= limit.limit_ms;
  return limit.metric == Metric::kPerToken && !record.arrivals.empty();
}

}  // namespace

Result<std::vector<Objective>> ParseObjectives(std::string_view text) {
  return ParseList<Objective>(text, ParseObjective);
}

Result<std::vector<RequestLimit>> ParseRequestLimits(std::string_view text) {
  return ParseList<RequestLimit>(text, ParseRequestLimit);
}

std::vector<ObjectiveResult> CheckObjectives(const std::vector<Objective>& objectives,
                                             const GroupSummary& figures) {
  std::vector<ObjectiveResult> results;
  for (const Objective& objective : objectives) {
    ObjectiveResult& result = results.emplace_back();
    result.objective = objective;
    if (!objective.metric) {
      if (figures.succeeded + figures.failed > 0) result.measured = figures.error_rate();
    } else if (figures.latencies[*objective.metric].sample_count > 0) {
      result.measured = figures.latencies[*objective.metric].*objective.statistic;
    }
    result.met = result.measured && *result.measured <= objective.limit;
  }
  return results;
}

Goodput CountGoodput(const std::vector<RequestLimit>& limits, const LoadRun& run,
                     const LoadSummary& summary) {
  Goodput goodput;
  goodput.limits = limits;
  for (const RequestRecord& record : run.records) {
    if (record.ok() && std::all_of(limits.begin(), limits.end(), [&](const RequestLimit& limit) {
          return Meets(record, limit);
        })) {
      ++goodput.met_count;
    }
  }
  const auto met = static_cast<double>(goodput.met_count);
  const int64_t measured = summary.all.succeeded + summary.all.failed;
  if (measured > 0) goodput.share = met / static_cast<double>(measured);
  if (summary.duration_s > 0) goodput.requests_per_s = met / summary.duration_s;
  return goodput;
}

}  // namespace weft
