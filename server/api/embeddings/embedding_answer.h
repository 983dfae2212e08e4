// The answer of /v1/embeddings, /pooling, /embed and Ollama's two.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/embeddings/embedding_response.h"
#include "server/api/pooling/pooling_answer.h"

namespace weft {

// The first `dimensions` numbers, scaled to length 1 (zeros stay zeros).
std::vector<float> NormalizedEmbedding(const std::vector<float>& pooled, int64_t dimensions);

struct EmbeddingAnswerOptions {
  std::string model;
  int64_t input_count = 0;
  int64_t dimensions = 0;
  EmbeddingFormat format = EmbeddingFormat::kFloat;
  bool normalizes = true;
  EmbeddingShape shape = EmbeddingShape::kOpenAi;
  std::optional<int64_t> truncated_tokens = {};  // where it was asked for
};

// What the answer takes, with its JSON and the vectors, `pooled_size` numbers each, of as many
// inputs as are in the engine at a time.
uint64_t EmbeddingAnswerBytes(const EmbeddingAnswerOptions& options, int64_t pooled_size,
                              int64_t in_flight);

class EmbeddingAnswer : public PoolingAnswer {
 public:
  explicit EmbeddingAnswer(EmbeddingAnswerOptions options)
      : PoolingAnswer(options.input_count),
        options_(std::move(options)),
        embeddings_(static_cast<size_t>(options_.input_count)) {}

  std::string WholeBody() override;

 private:
  void OnPooled(int32_t text_index, PooledResult&& result) override;

  const EmbeddingAnswerOptions options_;
  std::vector<std::vector<float>> embeddings_;
};

}  // namespace weft
