// Sums and maxima over a row of logits, in a fixed order that compilers can vectorise.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>

namespace weft {

inline constexpr size_t kRowLanes = 16;

inline bool AllFinite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7F800000;
  uint32_t not_finite = 0;
  for (const float value : values)
    not_finite |= (std::bit_cast<uint32_t>(value) & kExponent) == kExponent ? 1U : 0U;
  return not_finite == 0;
}

// -infinity for none.
inline float Largest(std::span<const float> values) {
  std::array<float, kRowLanes> lanes;
  lanes.fill(-std::numeric_limits<float>::infinity());
  const size_t whole = values.size() / kRowLanes * kRowLanes;
  for (size_t i = 0; i < whole; i += kRowLanes) {
    for (size_t lane = 0; lane < kRowLanes; ++lane)
      lanes[lane] = values[i + lane] > lanes[lane] ? values[i + lane] : lanes[lane];
  }
  float largest = *std::max_element(lanes.begin(), lanes.end());
  for (size_t i = whole; i < values.size(); ++i) largest = std::max(largest, values[i]);
  return largest;
}

// Element i goes into lane i % 16, then the lanes are added in order.
template <typename Term>
double SumInLanes(size_t count, const Term& term) {
  std::array<double, kRowLanes> lanes{};
  const size_t whole = count / kRowLanes * kRowLanes;
  for (size_t i = 0; i < whole; i += kRowLanes) {
    for (size_t lane = 0; lane < kRowLanes; ++lane)
      lanes[lane] += static_cast<double>(term(i + lane));
  }
  for (size_t i = whole; i < count; ++i) lanes[i - whole] += static_cast<double>(term(i));
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace weft
