#include "engine/sparse_pooler.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/exact_math.h"
#include "engine/row_math.h"

namespace weft {
namespace {

// After few positions hardly any logit is a new largest one: what remains is a comparison.
void Raise(float& largest, float value) {
  const std::atomic_ref<float> shared(largest);
  float seen = shared.load(std::memory_order_relaxed);
  while (value > seen && !shared.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

int64_t SparsePooler::Bytes(int64_t vocab_size) {
  return vocab_size * static_cast<int64_t>(sizeof(float));
}

void SparsePooler::Clear() { std::ranges::fill(largest_, 0.0F); }

void SparsePooler::Add(std::span<const float> logits) {
  WEFT_CHECK(logits.size() == largest_.size());
  if (!AllFinite(logits)) {
    Raise(largest_.front(), std::numeric_limits<float>::infinity());
    return;
  }
  for (size_t i = 0; i < logits.size(); ++i) Raise(largest_[i], logits[i]);
}

Result<PooledResult> SparsePooler::Take(const SparseSpec& spec) const {
  if (!std::isfinite(largest_.front())) {
    return Fail(ErrorCode::kInternal, "the model's logits are not finite");
  }
  PooledResult result;
  for (size_t i = 0; i < largest_.size(); ++i) {
    if (largest_[i] <= 0) continue;
    double weight = double{largest_[i]};
    for (int log = 0; log < spec.log_count; ++log) weight = exact::Log(1 + weight);
    const auto rounded = static_cast<float>(weight);
    if (rounded <= 0) continue;
    result.tokens.push_back(static_cast<TokenId>(i));
    result.values.push_back(rounded);
  }
  return result;
}

}  // namespace weft
