// Two servers, measured in turns: is one of them worse than the other?
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "loadtest/sweep/run_figures.h"

namespace weft {

enum class Side { kCandidate, kBaseline };

struct CompareOptions {
  int32_t rounds = 6;  // pairs of runs, at least 2
  double tolerance = 0.05;
  std::vector<RunFigure> figures;
};

using MeasureSideFunction = std::function<Result<LoadReport>(Side side, int32_t round)>;

enum class Verdict {
  kBetter,   // the interval excludes no change, and the change is beyond the tolerance
  kWorse,    // likewise
  kSame,     // the interval lies within the tolerance
  kUnclear,  // the interval is too wide for any of these: more rounds may tell
};

struct FigureComparison {
  RunFigure figure;
  Interval candidate;  // over the rounds that have both; kUsualConfidence
  Interval baseline;
  // The candidate's value over the baseline's, less 1: the geometric mean of the rounds' ratios and
  // its interval (Student's t on their logarithms; the runs of a round are paired). Where a value
  // is 0 there is no ratio: then the mean of the rounds' differences, likewise, over the larger
  // side's mean. So a figure that falls to 0 has changed by -100%, one that rises from it by +100%.
  Interval change;
  Verdict verdict = Verdict::kUnclear;
};

struct CompareResult {
  // Of each figure's change: so high that of two servers which are alike, one figure or more of all
  // that are compared would be thought different at most once in twenty times (Bonferroni).
  double confidence = kUsualConfidence;
  std::vector<FigureComparison> figures;
  std::vector<LoadReport> candidate;  // runs by round
  std::vector<LoadReport> baseline;
  std::string invalid;  // why nothing can be said; empty: something can

  bool worse() const;
};

// Rounds are run in the order A B, B A, A B, ... so that neither side always comes first and a
// drift meets both alike.
Result<CompareResult> RunComparison(const CompareOptions& options,
                                    const MeasureSideFunction& measure);

// Of one figure. Rounds in which either value is missing do not count.
FigureComparison CompareFigure(const RunFigure& figure, const std::vector<LoadReport>& candidate,
                               const std::vector<LoadReport>& baseline, double tolerance,
                               double confidence = kUsualConfidence);

std::string_view VerdictName(Verdict verdict);  // "better", "worse", "same", "unclear"

}  // namespace weft
