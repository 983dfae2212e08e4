#include "server/api/embeddings/embedding_answer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "proto/embeddings/embedding_response.h"

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

uint64_t EmbeddingAnswerBytes(int64_t input_count, int64_t dimensions, bool base64,
                              int64_t pooled_size, int64_t in_flight) {
  constexpr int64_t kVectorBytes = sizeof(std::vector<float>) + 16;  // with malloc's part
  constexpr int64_t kNumberBytes = sizeof(float);
  const int64_t kept = input_count * (kVectorBytes + dimensions * kNumberBytes);
  constexpr int64_t kEventBytes = sizeof(EngineEvent);
  const int64_t waiting =
      std::min(input_count, in_flight) * (kEventBytes + kVectorBytes + pooled_size * kNumberBytes);
  return static_cast<uint64_t>(kept + waiting) +
         EmbeddingJsonBytes(input_count, dimensions, base64);
}

void EmbeddingAnswer::OnPooled(int32_t prompt_index, PooledResult result) {
  embeddings_[static_cast<size_t>(prompt_index)] =
      NormalizedEmbedding(result.values, options_.dimensions);
}

std::string EmbeddingAnswer::WholeBody() {
  EmbeddingResponse response;
  response.embeddings = std::exchange(embeddings_, {});
  response.base64 = options_.base64;
  response.model = options_.model;
  response.prompt_tokens = usage().prompt_tokens;
  return ToJson(response);
}

}  // namespace weft
