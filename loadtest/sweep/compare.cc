#include "loadtest/sweep/compare.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace weft {
namespace {

Verdict Judge(const Interval& change, bool more_is_better, double tolerance) {
  if (change.sample_count < 2) return Verdict::kUnclear;
  const bool excludes_none = change.low > 0 || change.high < 0;
  if (excludes_none && std::abs(change.mean) > tolerance) {
    return (change.mean > 0) == more_is_better ? Verdict::kBetter : Verdict::kWorse;
  }
  const bool within = change.low >= -tolerance && change.high <= tolerance;
  return within ? Verdict::kSame : Verdict::kUnclear;
}

Interval ChangeOf(const std::vector<double>& candidate, const std::vector<double>& baseline,
                  double confidence) {
  std::vector<double> ratios, differences;
  double candidate_sum = 0, baseline_sum = 0;
  for (size_t i = 0; i < candidate.size(); ++i) {
    differences.push_back(candidate[i] - baseline[i]);
    candidate_sum += candidate[i];
    baseline_sum += baseline[i];
    if (candidate[i] > 0 && baseline[i] > 0) ratios.push_back(std::log(candidate[i] / baseline[i]));
  }
  const bool has_zero = ratios.size() < differences.size();
  Interval change = MeanInterval(has_zero ? differences : ratios, confidence);
  const double larger_mean = std::max(candidate_sum, baseline_sum) /
                             static_cast<double>(std::max<size_t>(candidate.size(), 1));
  for (double* value : {&change.mean, &change.low, &change.high}) {
    if (!has_zero) {
      *value = std::expm1(*value);
    } else if (larger_mean > 0) {  // else all are 0, and so is the change
      *value /= larger_mean;
    }
  }
  return change;
}

std::string WhyInvalid(const CompareResult& result) {
  for (const auto* runs : {&result.candidate, &result.baseline}) {
    for (const LoadReport& run : *runs) {
      // Objectives are beside the point here.
      const auto fault = std::find_if(run.faults.begin(), run.faults.end(), [](const Fault& each) {
        return each.kind != FaultKind::kObjectiveMissed;
      });
      if (fault != run.faults.end()) return fmt::format("{}: {}", run.url, fault->text);
    }
  }
  return "";
}

}  // namespace

bool CompareResult::worse() const {
  return std::any_of(figures.begin(), figures.end(), [](const FigureComparison& figure) {
    return figure.verdict == Verdict::kWorse;
  });
}

FigureComparison CompareFigure(const RunFigure& figure, const std::vector<LoadReport>& candidate,
                               const std::vector<LoadReport>& baseline, double tolerance,
                               double confidence) {
  std::vector<double> candidates, baselines;
  for (size_t round = 0; round < std::min(candidate.size(), baseline.size()); ++round) {
    const auto a = figure.value(candidate[round]), b = figure.value(baseline[round]);
    if (!a || !b) continue;
    candidates.push_back(*a);
    baselines.push_back(*b);
  }
  FigureComparison comparison;
  comparison.figure = figure;
  comparison.candidate = MeanInterval(candidates);
  comparison.baseline = MeanInterval(baselines);
  comparison.change = ChangeOf(candidates, baselines, confidence);
  comparison.verdict = Judge(comparison.change, figure.more_is_better, tolerance);
  return comparison;
}

Result<CompareResult> RunComparison(const CompareOptions& options,
                                    const MeasureSideFunction& measure) {
  CompareResult result;
  for (int32_t round = 0; round < options.rounds; ++round) {
    const bool candidate_first = round % 2 == 0;
    for (const bool is_candidate : {candidate_first, !candidate_first}) {
      WEFT_ASSIGN_OR_RETURN(LoadReport report,
                            measure(is_candidate ? Side::kCandidate : Side::kBaseline, round));
      const bool interrupted = report.summary.interrupted;
      (is_candidate ? result.candidate : result.baseline).push_back(std::move(report));
      if (interrupted) {
        result.invalid = "interrupted";
        return result;
      }
    }
  }
  result.invalid = WhyInvalid(result);
  const auto figure_count = static_cast<double>(std::max<size_t>(options.figures.size(), 1));
  result.confidence = 1 - (1 - kUsualConfidence) / figure_count;
  for (const RunFigure& figure : options.figures) {
    result.figures.push_back(CompareFigure(figure, result.candidate, result.baseline,
                                           options.tolerance, result.confidence));
  }
  return result;
}

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "worse";
    case Verdict::kSame:
      return "same";
    case Verdict::kUnclear:
      break;
  }
  return "unclear";
}

}  // namespace weft
