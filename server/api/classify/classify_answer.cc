#include "server/api/classify/classify_answer.h"

#include "proto/classify/classify_response.h"
#include "server/api/classify/label_scores.h"

namespace weft {

uint64_t ClassifyAnswerBytes(const ClassifyAnswerOptions& options) {
  constexpr uint64_t kTextBytes = sizeof(std::vector<double>) + 16;  // with malloc's part
  const uint64_t scores = options.labels.size() * (sizeof(double) + sizeof(float));
  return static_cast<uint64_t>(options.text_count) * (kTextBytes + scores) +
         ClassifyJsonBytes(options.text_count, options.labels);
}

void ClassifyAnswer::OnPooled(int32_t text_index, PooledResult&& result) {
  scores_[static_cast<size_t>(text_index)] = LabelScores(options_.activation, result.values);
}

std::string ClassifyAnswer::WholeBody() {
  const ClassifyResponse response = {
      .id = (options_.shape == ClassifyShape::kVllm ? "classify-" : "pool-") + request_id(),
      .created = created(),
      .model = options_.model,
      .labels = options_.labels,
      .scores = std::exchange(scores_, {}),
      .prompt_tokens = usage().prompt_tokens,
      .truncated_tokens = options_.truncated_tokens};
  switch (options_.shape) {
    case ClassifyShape::kVllm:
      return ToJson(response);
    case ClassifyShape::kPooling:
      return ToPoolingJson(response);
    case ClassifyShape::kTei:
    case ClassifyShape::kTeiBatch:
      break;
  }
  return ToPredictJson(response, options_.shape == ClassifyShape::kTeiBatch);
}

}  // namespace weft
