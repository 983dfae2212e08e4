#include "engine/drain_rate.h"

#include <cmath>

namespace weft {

void DrainRate::Add(Time now, int32_t left, bool stands) {
  constexpr double kFadingSeconds = 10;
  if (stands_since_) {
    const double seconds = std::chrono::duration<double>(now - *stands_since_).count();
    const double kept = std::exp(-seconds / kFadingSeconds);
    left_ = left_ * kept + left;
    seconds_ = seconds_ * kept + seconds;
    if (seconds_ > 0) per_second_.store(left_ / seconds_, std::memory_order_relaxed);
  }
  stands_since_ = stands ? std::optional(now) : std::nullopt;
}

std::optional<double> DrainRate::per_second() const {
  const double per_second = per_second_.load(std::memory_order_relaxed);
  return per_second > 0 ? std::optional(per_second) : std::nullopt;
}

}  // namespace weft
