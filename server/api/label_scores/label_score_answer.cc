#include "server/api/label_scores/label_score_answer.h"

#include "base/exact_math.h"
#include "proto/label_scores/label_score_response.h"
#include "proto/score/score_response.h"
#include "server/api/classify/label_scores.h"

namespace weft {

uint64_t LabelScoreAnswerBytes(const LabelScoreOptions& options) {
  constexpr int64_t kItemBytes = sizeof(std::vector<double>) + 16;  // with malloc's part
  constexpr int64_t kScoreBytes = sizeof(double) + sizeof(float);
  return static_cast<uint64_t>(options.item_count *
                               (kItemBytes + options.label_count * kScoreBytes)) +
         LabelScoreJsonBytes(options.item_count, options.label_count) +
         ScoreJsonBytes(options.item_count);
}

void LabelScoreAnswer::OnPooled(int32_t text_index, PooledResult&& result) {
  std::vector<double>& scores = scores_[static_cast<size_t>(text_index)];
  if (options_.apply_softmax) {
    scores = LabelScores(LabelActivation::kSoftmax, result.values);
    return;
  }
  for (const float logit : result.values) {
    scores.push_back(exact::Exp(double{logit} - result.log_sum));
  }
}

std::string LabelScoreAnswer::WholeBody() {
  if (options_.shape == LabelScoreShape::kSglang) {
    return ToJson(LabelScoreResponse{.model = options_.model,
                                     .scores = std::exchange(scores_, {}),
                                     .prompt_tokens = usage().prompt_tokens});
  }
  ScoreResponse response = {.id = "generative-scoring-" + request_id(),
                            .created = created(),
                            .model = options_.model,
                            .scores = {},
                            .prompt_tokens = usage().prompt_tokens,
                            .truncated_tokens = {}};
  for (const std::vector<double>& scores : scores_) response.scores.push_back(scores.front());
  return ToJson(response);
}

}  // namespace weft
