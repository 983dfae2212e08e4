#include "engine/pooler.h"

#include <cmath>

#include "base/check.h"

namespace weft {

void Pooler::Add(std::span<const float> hidden) {
  WEFT_CHECK(pooling_ == Pooling::kMean || count_ == 0);
  WEFT_CHECK(sum_.empty() || sum_.size() == hidden.size());
  sum_.resize(hidden.size());
  for (size_t i = 0; i < hidden.size(); ++i) sum_[i] += double{hidden[i]};
  ++count_;
}

Result<std::vector<float>> Pooler::Take() {
  WEFT_CHECK(count_ > 0);
  std::vector<float> pooled;
  pooled.reserve(sum_.size());
  for (const double sum : sum_) {
    pooled.push_back(static_cast<float>(sum / static_cast<double>(count_)));
    if (!std::isfinite(pooled.back())) {
      return Fail(ErrorCode::kInternal, "the model's hidden states are not finite");
    }
  }
  return pooled;
}

}  // namespace weft
