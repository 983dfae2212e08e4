// Percentiles.
#pragma once

#include <cstddef>
#include <vector>

namespace weft {

// By nearest rank: the smallest sample that at least so many per mille of them do not exceed (above
// 0; 1000: the largest), so every percentile is a sample that occurred. Requires samples, sorted.
template <typename T>
T NearestRank(const std::vector<T>& samples, size_t per_mille) {
  return samples[(per_mille * samples.size() + 999) / 1000 - 1];
}

}  // namespace weft
