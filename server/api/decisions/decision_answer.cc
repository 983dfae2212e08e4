#include "server/api/decisions/decision_answer.h"

#include "proto/decisions/decision_response.h"
#include "server/api/classify/label_scores.h"

namespace weft {

uint64_t DecisionAnswerBytes(const std::vector<DecisionQuestion>& questions) {
  constexpr uint64_t kQuestionBytes = 1024;
  constexpr uint64_t kOptionBytes = 1024;  // as a JSON value, too
  uint64_t size = 0;
  for (const DecisionQuestion& question : questions) {
    size += kQuestionBytes;
    for (const DecisionOption& option : question.options) {
      size += kOptionBytes + 4 * option.text.size();
    }
  }
  return size;
}

void DecisionAnswer::OnPooled(int32_t text_index, PooledResult&& result) {
  const auto index = static_cast<size_t>(text_index);
  std::vector<float> logits;
  for (const size_t place : places_[index]) logits.push_back(result.values[place]);
  probabilities_[index] = LabelScores(LabelActivation::kSoftmax, logits);
}

std::string DecisionAnswer::WholeBody() {
  return ToJson(DecisionResponse{.model = model_,
                                 .questions = std::exchange(questions_, {}),
                                 .probabilities = std::exchange(probabilities_, {}),
                                 .prompt_tokens = usage().prompt_tokens,
                                 .cached_tokens = usage().cached_tokens});
}

}  // namespace weft
