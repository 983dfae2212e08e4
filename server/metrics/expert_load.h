// How evenly tokens choose the experts of a mixture.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

// One thread.
class ExpertLoad {
 public:
  // `window_tokens`: the imbalance is that of the last one to two times as many tokens.
  explicit ExpertLoad(int64_t window_tokens = 4096) : window_tokens_(window_tokens) {}

  // How many tokens have chosen each expert since the start: (layers, experts), a layer without
  // experts all zero. The shape is always the same. `token_count` is how many there were since the
  // last call.
  void Update(std::span<const int64_t> counts, int64_t expert_count, int64_t token_count);

  // By expert, all layers together.
  const std::vector<int64_t>& tokens() const { return tokens_; }
  // By layer: those of the busiest expert over the mean of all; 0 where there are none.
  const std::vector<double>& imbalance() const { return imbalance_; }

 private:
  const int64_t window_tokens_;
  int64_t recent_tokens_ = 0;  // since newer_
  std::vector<int64_t> older_, newer_;
  std::vector<int64_t> tokens_;
  std::vector<double> imbalance_;
};

}  // namespace weft
