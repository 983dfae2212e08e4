#include "loadtest/sweep/sweep.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "loadtest/sweep/run_figures.h"

namespace weft {
namespace {

class Sweep {
 public:
  Sweep(const SweepOptions& options, const MeasureFunction& measure)
      : options_(options), measure_(measure) {}

  Result<SweepResult> Run() {
    if (options_.loads.empty()) {
      WEFT_RETURN_IF_ERROR(Double());
      WEFT_RETURN_IF_ERROR(Halve());
    } else {
      // Repeat by repeat, so that what drifts meanwhile meets all loads alike.
      for (int32_t repeat = 0; repeat < options_.repeats; ++repeat) {
        for (const double load : options_.loads) {
          WEFT_RETURN_IF_ERROR(Measure(load, repeat));
        }
      }
    }
    if (options_.seek_objectives) {
      WEFT_RETURN_IF_ERROR(SeekLimit());
    } else if (options_.loads.empty()) {
      WEFT_RETURN_IF_ERROR(SeekKnee());
    }
    return Finish();
  }

 private:
  Result<void> Measure(double load, int32_t repeat) {
    if (interrupted_) return {};
    WEFT_ASSIGN_OR_RETURN(LoadReport report, measure_(load, repeat));
    interrupted_ = report.summary.interrupted;
    SweepStep& step = steps_[load];
    step.load = load;
    step.runs.push_back(std::move(report));
    return {};
  }

  Result<void> MeasureAll(double load) {
    for (int32_t repeat = 0; repeat < options_.repeats; ++repeat) {
      WEFT_RETURN_IF_ERROR(Measure(load, repeat));
    }
    return {};
  }

  static double Throughput(const SweepStep& step) {
    return IntervalOf(step.runs, ThroughputOf(step.runs.front())).mean;
  }

  static bool MostRunsFail(const SweepStep& step) {
    return IntervalOf(step.runs, FigureOf("error_rate")).mean > 0.5;
  }

  Result<void> Double() {
    double before = 0;
    double load = std::min(options_.first_load, options_.max_load);
    while (true) {
      WEFT_RETURN_IF_ERROR(MeasureAll(load));
      if (interrupted_ || load >= options_.max_load) break;
      const SweepStep& step = steps_.at(load);
      if (!HasValidRun(step) || MostRunsFail(step)) break;
      if (options_.seek_objectives && !KeepsObjectives(step)) break;
      const double throughput = Throughput(step);
      if (throughput * kSaturatedShare < before) break;
      before = throughput;
      load = std::min(load * 2, options_.max_load);
    }
    return {};
  }

  // The first load may be too much already.
  Result<void> Halve() {
    while (!interrupted_) {
      const auto& [load, step] = *steps_.begin();
      const bool is_too_much = options_.seek_objectives ? !KeepsObjectives(step) : load == Knee();
      if (!is_too_much || !HasValidRun(step) || load / 2 < options_.least_load) break;
      WEFT_RETURN_IF_ERROR(MeasureAll(load / 2));
    }
    return {};
  }

  double HighestThroughput() const {
    double highest = 0;
    for (const auto& [load, step] : steps_) highest = std::max(highest, Throughput(step));
    return highest;
  }

  // Between two loads, or nothing if they are as near as they can usefully be.
  std::optional<double> Middle(double low, double high) const {
    if (high / low <= 1 + kPrecision) return std::nullopt;
    if (options_.open_loop) return std::sqrt(low * high);
    const double middle = std::floor((low + high) / 2);
    if (middle <= low) return std::nullopt;
    return middle;
  }

  // The load at which `is_low` turns false, between a low one and a high one.
  template <typename Predicate>
  Result<void> Bisect(double low, double high, Predicate is_low) {
    for (int32_t i = 0; i < kMostBisections && !interrupted_; ++i) {
      const std::optional<double> middle = Middle(low, high);
      if (!middle) break;
      WEFT_RETURN_IF_ERROR(MeasureAll(*middle));
      const SweepStep& step = steps_.at(*middle);
      if (interrupted_ || !HasValidRun(step)) break;
      (is_low(step) ? low : high) = *middle;
    }
    return {};
  }

  Result<void> SeekLimit() {
    double kept = 0;
    for (const auto& [load, step] : steps_) {
      if (!KeepsObjectives(step)) {
        return kept > 0 ? Bisect(kept, load, KeepsObjectives) : Result<void>();
      }
      kept = load;
    }
    return {};
  }

  Result<void> SeekKnee() {
    const std::optional<double> knee = Knee();
    if (!knee) return {};
    double below = 0;
    for (const auto& [load, step] : steps_) {
      if (load < *knee) below = load;
    }
    if (below == 0) return {};
    return Bisect(below, *knee, [&](const SweepStep& step) {
      return Throughput(step) < kSaturatedShare * HighestThroughput();
    });
  }

  std::optional<double> Knee() const {
    const double enough = kSaturatedShare * HighestThroughput();
    std::optional<double> knee;
    double highest_load = 0;
    for (const auto& [load, step] : steps_) {
      if (!HasValidRun(step)) continue;
      if (!knee && enough > 0 && Throughput(step) >= enough) knee = load;
      highest_load = load;
    }
    // At the highest load nobody knows whether it would still have grown.
    if (knee == highest_load) return std::nullopt;
    return knee;
  }

  SweepResult Finish() {
    SweepResult result;
    result.interrupted = interrupted_;
    result.knee = Knee();
    for (const auto& [load, step] : steps_) {
      if (!options_.seek_objectives) break;
      if (!KeepsObjectives(step)) {
        result.limit_found = true;
        break;
      }
      result.highest_kept = load;
    }
    for (auto& [load, step] : steps_) result.steps.push_back(std::move(step));
    return result;
  }

  const SweepOptions& options_;
  const MeasureFunction& measure_;
  std::map<double, SweepStep> steps_;  // by load
  bool interrupted_ = false;
};

}  // namespace

Result<SweepResult> RunSweep(const SweepOptions& options, const MeasureFunction& measure) {
  return Sweep(options, measure).Run();
}

bool KeepsObjectives(const SweepStep& step) {
  const auto kept = std::count_if(step.runs.begin(), step.runs.end(),
                                  [](const LoadReport& run) { return run.faults.empty(); });
  return 2 * static_cast<size_t>(kept) > step.runs.size();
}

bool HasValidRun(const SweepStep& step) {
  return std::any_of(step.runs.begin(), step.runs.end(), IsValid);
}

namespace {

template <typename Predicate>
int64_t CountRuns(const SweepResult& result, const Predicate& predicate) {
  int64_t count = 0;
  for (const SweepStep& step : result.steps) count += std::ranges::count_if(step.runs, predicate);
  return count;
}

}  // namespace

int64_t InvalidRunCount(const SweepResult& result) {
  return CountRuns(result, std::not_fn(IsValid));
}

int64_t BottleneckRunCount(const SweepResult& result) {
  return CountRuns(result, [](const LoadReport& run) { return run.summary.client.was_bottleneck; });
}

bool IsSuccess(const SweepResult& result, const SweepOptions& options) {
  const bool has_mismatch =
      std::any_of(result.steps.begin(), result.steps.end(), [](const SweepStep& step) {
        return std::any_of(step.runs.begin(), step.runs.end(),
                           [](const LoadReport& run) { return run.summary.mismatch_count > 0; });
      });
  const bool kept = !options.seek_objectives || result.highest_kept;
  return kept && !result.interrupted && !has_mismatch && InvalidRunCount(result) == 0;
}

Result<std::vector<double>> ParseLoads(std::string_view text, bool whole) {
  std::vector<double> loads;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    double load = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), load);
    if (error != std::errc() || end != item.data() + item.size() || !(load > 0) || load > 1e6 ||
        (whole && load != std::floor(load))) {
      return Fail(ErrorCode::kInvalidArgument, "load '{}': expected a {}number above 0", item,
                  whole ? "whole " : "");
    }
    if (!loads.empty() && load <= loads.back()) {
      return Fail(ErrorCode::kInvalidArgument, "load '{}': expected more than the one before it",
                  item);
    }
    loads.push_back(load);
    if (comma == std::string_view::npos) return loads;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace weft
