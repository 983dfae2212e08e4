#include "engine/pooler.h"

#include <cmath>

#include "base/check.h"

namespace weft {

void Pooler::Add(std::span<const float> hidden) {
  ++count_;
  if (count_ == 1) {
    pooled_.assign(hidden.begin(), hidden.end());
    weight_ = 1;
    return;
  }
  WEFT_CHECK(pooling_ != Pooling::kLast && pooling_ != Pooling::kFirst);
  WEFT_CHECK(pooled_.size() == hidden.size());
  if (pooling_ == Pooling::kMax) {
    for (size_t i = 0; i < hidden.size(); ++i) {
      // What is no number stays, so that it is found.
      if (!(hidden[i] <= pooled_[i]) && !std::isnan(pooled_[i])) pooled_[i] = double{hidden[i]};
    }
    return;
  }
  const double weight = pooling_ == Pooling::kWeightedMean ? static_cast<double>(count_) : 1.0;
  for (size_t i = 0; i < hidden.size(); ++i) pooled_[i] += weight * double{hidden[i]};
  weight_ += weight;
}

Result<std::vector<float>> Pooler::Take() {
  WEFT_CHECK(count_ > 0);
  std::vector<float> pooled;
  pooled.reserve(pooled_.size());
  for (const double each : pooled_) {
    pooled.push_back(static_cast<float>(each / weight_));
    if (!std::isfinite(pooled.back())) {
      return Fail(ErrorCode::kInternal, "the model's hidden states are not finite");
    }
  }
  return pooled;
}

}  // namespace weft
