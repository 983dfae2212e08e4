#include "server/api/embeddings/embedding_answer.h"

#include <algorithm>
#include <cmath>

namespace weft {

std::vector<float> NormalizedEmbedding(const std::vector<float>& pooled, int64_t dimensions) {
  std::vector<float> result(pooled.begin(), pooled.begin() + dimensions);
  double square_sum = 0;
  for (const float number : result) square_sum += double{number} * double{number};
  const double length = std::sqrt(square_sum);
  if (length == 0) return result;
  for (float& number : result) number = static_cast<float>(double{number} / length);
  return result;
}

uint64_t EmbeddingAnswerBytes(const EmbeddingAnswerOptions& options, int64_t pooled_size,
                              int64_t in_flight) {
  constexpr int64_t kVectorBytes = sizeof(std::vector<float>) + 16;  // with malloc's part
  constexpr int64_t kNumberBytes = sizeof(float);
  const int64_t count = options.input_count;
  const int64_t kept = count * (kVectorBytes + options.dimensions * kNumberBytes);
  constexpr int64_t kEventBytes = sizeof(EngineEvent);
  const int64_t waiting =
      std::min(count, in_flight) * (kEventBytes + kVectorBytes + pooled_size * kNumberBytes);
  return static_cast<uint64_t>(kept + waiting) +
         EmbeddingJsonBytes(count, options.dimensions, options.format);
}

void EmbeddingAnswer::OnPooled(int32_t text_index, PooledResult&& result) {
  std::vector<float>& embedding = embeddings_[static_cast<size_t>(text_index)];
  if (options_.normalizes) {
    embedding = NormalizedEmbedding(result.values, options_.dimensions);
    return;
  }
  embedding.assign(result.values.begin(), result.values.begin() + options_.dimensions);
}

std::string EmbeddingAnswer::WholeBody() {
  const RequestDurations spent = durations();
  return ToJson({.id = "pool-" + request_id(),
                 .created = created(),
                 .embeddings = std::exchange(embeddings_, {}),
                 .format = options_.format,
                 .model = options_.model,
                 .prompt_tokens = usage().prompt_tokens,
                 .truncated_tokens = options_.truncated_tokens,
                 .total_ns = spent.total_ns,
                 .load_ns = spent.waited_ns},
                options_.shape);
}

}  // namespace weft
