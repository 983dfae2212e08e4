#include "loadtest/report/axis.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft {
namespace {

constexpr double kMostSteps = 5;          // labels need room, in a window of 400 pixels too
constexpr int kMostLogarithmicTicks = 6;  // likewise: 50 and 100 of seven would touch

// The smallest step of 1, 2 or 5 times a power of ten that cuts `range` in at most kMostSteps.
double Step(double range) {
  const double rough = range / kMostSteps * (1 - 1e-9);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double rest = rough / power;
  return power * (rest <= 1 ? 1 : rest <= 2 ? 2 : rest <= 5 ? 5 : 10);
}

}  // namespace

AxisScale::AxisScale(double min, double max, bool logarithmic, double first, double last)
    : logarithmic_(logarithmic), first_(first), last_(last) {
  if (!logarithmic) {
    const double step = Step(max > 0 ? max : 1);
    const double step_count = std::max(std::ceil(max / step - 1e-9), 1.0);
    min_ = 0;
    max_ = step * step_count;
    for (double i = 0; i <= step_count; ++i) ticks_.push_back(i * step);
    return;
  }
  // Ends at 1, 2 or 5 times a power of ten; ticks there too, or at powers only if that is many.
  std::vector<double> candidates;
  for (double power = std::pow(10, std::floor(std::log10(min))); power < max * 10; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) candidates.push_back(factor * power);
  }
  const auto begin = std::upper_bound(candidates.begin(), candidates.end(), min * 1.0001) - 1;
  const auto end = std::lower_bound(begin + 1, candidates.end(), max * 0.9999) + 1;
  min_ = *begin;
  max_ = *(end - 1);
  const bool only_powers = end - begin > kMostLogarithmicTicks;
  for (auto tick = begin; tick != end; ++tick) {
    const double exponent = std::log10(*tick);
    if (!only_powers || std::abs(exponent - std::round(exponent)) < 1e-9) ticks_.push_back(*tick);
  }
}

double AxisScale::Position(double value) const {
  if (!logarithmic_) return (value - min_) / (max_ - min_);
  return value <= min_ ? 0 : std::log(value / min_) / std::log(max_ / min_);
}

double AxisScale::Place(double value) const {
  return first_ + std::clamp(Position(value), 0.0, 1.0) * (last_ - first_);
}

double AxisScale::Value(double place) const {
  const double position = (place - first_) / (last_ - first_);
  return logarithmic_ ? min_ * std::pow(max_ / min_, position) : min_ + position * (max_ - min_);
}

}  // namespace weft
