#include "engine/step_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

namespace weft {
namespace {

// So few hardly cost more than none.
constexpr int32_t kFewChunkRows = 24;
constexpr int32_t kSmallStepRows = 64;

int Magnitude(int32_t count) { return std::bit_width(static_cast<uint32_t>(count)); }

}  // namespace

void StepShape::AddDecode(int32_t position) {
  ++decode_rows;
  decode_reads += position + 1;
}

void StepShape::AddChunk(int32_t first_position, int32_t row_count) {
  chunk_rows += row_count;
  chunk_reads += int64_t{row_count} * first_position + int64_t{row_count} * (row_count + 1) / 2;
}

StepCostModel::Costs StepCostModel::CountsOf(const StepShape& shape) {
  return {1, static_cast<double>(shape.decode_rows), static_cast<double>(shape.chunk_rows),
          static_cast<double>(shape.decode_reads), static_cast<double>(shape.chunk_reads)};
}

double StepCostModel::FittedSeconds(const Costs& counts) const {
  return std::inner_product(counts.begin(), counts.end(), costs_.begin(), 0.0);
}

double StepCostModel::PredictSeconds(const StepShape& shape) const {
  return pace_ * FittedSeconds(CountsOf(shape));
}

void StepCostModel::Observe(const StepShape& shape, std::chrono::nanoseconds duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  if (!std::exchange(started_, true) || seconds <= 0) return;
  const Sample sample{CountsOf(shape), seconds, observed_count_};
  latest_[static_cast<size_t>(observed_count_) % kPaceSteps] = sample;
  if (shape.decode_rows > 0 && shape.chunk_rows <= kFewChunkRows) last_decoding_ = observed_count_;
  if (shape.decode_rows + shape.chunk_rows <= kSmallStepRows) last_small_ = observed_count_;
  ++observed_count_;
  std::vector<Sample>& alike =
      samples_[{Magnitude(shape.decode_rows), Magnitude(shape.chunk_rows)}];
  if (alike.size() < kSamplesPerClass) {
    alike.push_back(sample);
    return;
  }
  *std::min_element(alike.begin(), alike.end(),
                    [](const Sample& a, const Sample& b) { return a.number < b.number; }) = sample;
}

bool StepCostModel::knows_decoding() const {
  return last_decoding_ >= 0 && observed_count_ - last_decoding_ <= kFreshSteps;
}

bool StepCostModel::knows_small_steps() const {
  return last_small_ >= 0 && observed_count_ - last_small_ <= 8 * kFreshSteps;
}

int32_t StepCostModel::chunk_rows_of_late(int64_t step_count) const {
  int32_t most = 0;
  for (const auto& [size_class, alike] : samples_) {
    for (const Sample& sample : alike) {
      if (observed_count_ - sample.number > step_count) continue;
      most = std::max(most, static_cast<int32_t>(sample.counts[2]));
    }
  }
  return most;
}

int32_t StepCostModel::trusted_chunk_rows() const {
  constexpr int32_t kAtFirst = 32;
  int32_t most = 0;
  for (const auto& [size_class, alike] : samples_) {
    for (const Sample& sample : alike)
      most = std::max(most, static_cast<int32_t>(sample.counts[2]));
  }
  return std::max(kAtFirst, 2 * most);
}

void StepCostModel::Fit() {
  if (observed_count_ == 0) return;
  constexpr int kReweightings = 4;
  FitOnce(/*all_alike=*/true);
  for (int i = 0; i < kReweightings; ++i) FitOnce(/*all_alike=*/false);
  FitPace();
}

void StepCostModel::FitOnce(bool all_alike) {
  constexpr double kUsualError = 0.1;  // relative; larger ones count less and less
  constexpr int kMostSweeps = 200;
  constexpr double kSettled = 1e-4;  // of a cost, relative: no sweep after one that changes less
  // Where samples do not tell them apart, steps cost by their rows rather than by what these read,
  // and by the step rather than by decode rows: a share of the diagonal, added to it.
  constexpr Costs kReluctance = {0, 0.002, 0, 0.02, 0.02};
  // Normal equations of: minimise the sum of weight * (costs . counts / seconds - 1)^2.
  std::array<Costs, kCostCount> matrix = {};
  Costs right = {};
  for (const auto& [size_class, alike] : samples_) {
    const double usual_ratio = MedianRatio(alike);
    for (const Sample& sample : alike) {
      const double error =
          all_alike ? 0 : FittedSeconds(sample.counts) / sample.seconds / usual_ratio - 1;
      const double doubt = error * error / (kUsualError * kUsualError);
      const double age =
          static_cast<double>(observed_count_ - sample.number) / static_cast<double>(kFreshSteps);
      const double weight = 1 / ((1 + age * age) * (1 + doubt));
      for (size_t i = 0; i < kCostCount; ++i) {
        const double scaled = weight * sample.counts[i] / sample.seconds;
        right[i] += scaled;
        for (size_t j = 0; j < kCostCount; ++j) {
          matrix[i][j] += scaled * sample.counts[j] / sample.seconds;
        }
      }
    }
  }
  for (size_t i = 0; i < kCostCount; ++i) matrix[i][i] *= 1 + kReluctance[i];
  // Coordinate descent: with five unknowns as good as any, and costs below zero are simply cut off.
  Costs fitted = all_alike ? Costs{} : costs_;
  bool settled = false;
  for (int sweep = 0; sweep < kMostSweeps && !settled; ++sweep) {
    settled = true;
    for (size_t i = 0; i < kCostCount; ++i) {
      if (matrix[i][i] <= 0) continue;
      const double others =
          std::inner_product(fitted.begin(), fitted.end(), matrix[i].begin(), 0.0) -
          matrix[i][i] * fitted[i];
      const double cost = std::max(0.0, (right[i] - others) / matrix[i][i]);
      settled &= std::abs(cost - fitted[i]) <= kSettled * cost;
      fitted[i] = cost;
    }
  }
  costs_ = fitted;
}

double StepCostModel::MedianRatio(const std::vector<Sample>& alike) const {
  std::array<double, kSamplesPerClass> ratios = {};
  for (size_t i = 0; i < alike.size(); ++i) {
    ratios[i] = FittedSeconds(alike[i].counts) / alike[i].seconds;
  }
  const auto end = ratios.begin() + std::ssize(alike);
  const auto middle = ratios.begin() + std::ssize(alike) / 2;
  std::nth_element(ratios.begin(), middle, end);
  return std::max(*middle, 1e-9);
}

void StepCostModel::FitPace() {
  constexpr double kMost = 8;
  std::array<double, kPaceSteps> ratios = {};
  const auto count = static_cast<std::ptrdiff_t>(
      std::min<int64_t>(observed_count_, static_cast<int64_t>(kPaceSteps)));
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const Sample& sample = latest_[static_cast<size_t>(i)];
    const double fitted = FittedSeconds(sample.counts);
    ratios[static_cast<size_t>(i)] =
        fitted > 0 ? std::clamp(sample.seconds / fitted, 1 / kMost, kMost) : 1;
  }
  const auto middle = ratios.begin() + (count - 1) / 2;
  std::nth_element(ratios.begin(), middle, ratios.begin() + count);
  pace_ = *middle;
}

}  // namespace weft
