#include "server/api/score/score_answer.h"

#include <algorithm>
#include <cmath>

#include "proto/score/score_response.h"
#include "server/api/pooling/pooling_job.h"

namespace weft {

std::string ScoreAnswer::WholeBody() {
  return ToJson(ScoreResponse{.id = "score-" + request_id(),
                              .created = created(),
                              .model = options_.model,
                              .scores = std::exchange(scores_, {}),
                              .prompt_tokens = usage().prompt_tokens,
                              .truncated_tokens = options_.truncated_tokens});
}

void PairScoreAnswer::OnPooled(int32_t text_index, PooledResult&& result) {
  SetScore(static_cast<size_t>(text_index),
           raw_scores_ ? RankingLogit(result.values) : RankingScore(ranking_, result.values));
}

void SimilarityAnswer::OnPooled(int32_t text_index, PooledResult&& result) {
  const auto index = static_cast<size_t>(text_index);
  vectors_[index] = std::move(result.values);
  if (!has_one_first_) return Compare(index / 2);
  if (index > 0) return Compare(index - 1);
  for (size_t pair = 0; pair < score_count(); ++pair) Compare(pair);
}

void SimilarityAnswer::Compare(size_t pair) {
  std::vector<float>& first = vectors_[has_one_first_ ? 0 : 2 * pair];
  std::vector<float>& second = vectors_[has_one_first_ ? 1 + pair : 2 * pair + 1];
  if (first.empty() || second.empty()) return;
  SetScore(pair, CosineSimilarity(first, second));
  std::exchange(second, {});
  if (!has_one_first_) std::exchange(first, {});
}

uint64_t PairScoreAnswerBytes(int64_t score_count) {
  return static_cast<uint64_t>(score_count) * sizeof(double) + ScoreJsonBytes(score_count);
}

uint64_t SimilarityAnswerBytes(int64_t score_count, int64_t pooled_size) {
  constexpr int64_t kSlotBytes = 2 * sizeof(std::vector<float>);
  const int64_t number_bytes = pooled_size * static_cast<int64_t>(sizeof(float));
  // Those that wait for their partners, and those that wait to be drained.
  const int64_t vectors = 2 * std::min<int64_t>(2 * score_count, kMaxPooledInFlight);
  return static_cast<uint64_t>(score_count * kSlotBytes + vectors * number_bytes) +
         PairScoreAnswerBytes(score_count);
}

double CosineSimilarity(std::span<const float> a, std::span<const float> b) {
  double product = 0;
  double a_squares = 0;
  double b_squares = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += double{a[i]} * double{b[i]};
    a_squares += double{a[i]} * double{a[i]};
    b_squares += double{b[i]} * double{b[i]};
  }
  const double lengths = std::sqrt(a_squares) * std::sqrt(b_squares);
  return lengths == 0 ? 0 : std::clamp(product / lengths, -1.0, 1.0);
}

}  // namespace weft
