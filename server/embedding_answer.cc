#include "server/embedding_answer.h"

#include <cmath>
#include <utility>

#include "proto/embedding_response.h"

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

void EmbeddingAnswer::OnEmbedding(int32_t prompt_index, const Embedding& pooled) {
  embeddings_[static_cast<size_t>(prompt_index)] = NormalizedEmbedding(pooled, options_.dimensions);
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
