// What /v1/embeddings, /pooling, /embed, /embedding and Ollama's two answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/embeddings/embedding_format.h"
#include "proto/embeddings/embedding_request.h"

namespace weft {

struct EmbeddingResponse {
  std::string id;                              // of EmbeddingShape::kPooling
  int64_t created = 0;                         // likewise; seconds since 1970
  std::vector<std::vector<float>> embeddings;  // finite numbers
  EmbeddingFormat format = EmbeddingFormat::kFloat;
  std::string model;
  int64_t prompt_tokens = 0;
  std::optional<int64_t> truncated_tokens = {};  // where it was asked for
  int64_t total_ns = 0;                          // of EmbeddingShape::kOllama
  int64_t load_ns = 0;                           // likewise
};

// A JSON array; the numbers, which are finite, are the shortest that read back as the same float32.
void AppendNumbers(const std::vector<float>& numbers, std::string& output);

// The most that ToJson makes of so many embeddings, in any shape.
uint64_t EmbeddingJsonBytes(int64_t count, int64_t dimensions, EmbeddingFormat format);

// One line of JSON; float numbers are the shortest that read back as the same float32.
std::string ToJson(const EmbeddingResponse& response, EmbeddingShape shape);

}  // namespace weft
