#include "server/metrics/expert_load.h"

#include <algorithm>

#include "base/check.h"

namespace weft {

void ExpertLoad::Update(std::span<const int64_t> counts, int64_t expert_count,
                        int64_t token_count) {
  if (counts.empty()) return;
  const auto experts = static_cast<size_t>(expert_count);
  WEFT_CHECK(expert_count > 0 && counts.size() % experts == 0);
  const size_t layers = counts.size() / experts;
  older_.resize(counts.size());
  newer_.resize(counts.size());
  tokens_.assign(experts, 0);
  imbalance_.assign(layers, 0);
  for (size_t layer = 0; layer < layers; ++layer) {
    int64_t sum = 0;
    int64_t most = 0;
    for (size_t expert = 0; expert < experts; ++expert) {
      const size_t i = layer * experts + expert;
      tokens_[expert] += counts[i];
      const int64_t recent = counts[i] - older_[i];
      sum += recent;
      most = std::max(most, recent);
    }
    if (sum > 0) {
      imbalance_[layer] =
          static_cast<double>(most) * static_cast<double>(expert_count) / static_cast<double>(sum);
    }
  }
  recent_tokens_ += token_count;
  if (recent_tokens_ < window_tokens_) return;
  recent_tokens_ = 0;
  older_.swap(newer_);
  newer_.assign(counts.begin(), counts.end());
}

}  // namespace weft
