#include "model/relative_position.h"

#include <algorithm>
#include <cstdlib>

#include "base/exact_math.h"
#include "model/kernels/kernels.h"

namespace weft {
namespace {

// Of `count` buckets for distances from 0 on.
int64_t BucketOfLength(int64_t length, int64_t count, int64_t max_distance) {
  const int64_t exact_count = count / 2;
  if (length < exact_count) return length;
  const double most = static_cast<double>(max_distance) / static_cast<double>(exact_count);
  const float ratio = static_cast<float>(length) / static_cast<float>(exact_count);
  const float share = static_cast<float>(exact::Log(static_cast<double>(ratio))) /
                      static_cast<float>(exact::Log(most));
  const float beyond = share * static_cast<float>(count - exact_count);
  return std::min(exact_count + static_cast<int64_t>(beyond), count - 1);
}

}  // namespace

int64_t RelativeBucket(const RelativeBuckets& buckets, int64_t distance) {
  if (buckets.is_causal) {
    return BucketOfLength(std::max(-distance, int64_t{0}), buckets.count, buckets.max_distance);
  }
  const int64_t half = buckets.count / 2;
  return (distance > 0 ? half : 0) + BucketOfLength(std::abs(distance), half, buckets.max_distance);
}

std::vector<float> DistanceBias(const RelativeBuckets& buckets, int64_t head_count,
                                const std::vector<float>& learned) {
  const int64_t reach = buckets.max_distance;
  std::vector<float> bias;
  bias.reserve(static_cast<size_t>(head_count * DistanceBiasFloats(reach)));
  for (int64_t head = 0; head < head_count; ++head) {
    for (int64_t at = -(reach + kDistanceMargin); at <= reach + kDistanceMargin; ++at) {
      const int64_t bucket = RelativeBucket(buckets, std::clamp(at, -reach, reach));
      bias.push_back(learned[static_cast<size_t>(bucket * head_count + head)]);
    }
  }
  return bias;
}

}  // namespace weft
