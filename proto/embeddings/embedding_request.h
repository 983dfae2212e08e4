// The bodies of POST /v1/embeddings, /pooling and /embed, validated: every value is in its range,
// every default filled in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/api_error.h"
#include "proto/embeddings/embedding_format.h"
#include "proto/prompt.h"
#include "proto/truncation.h"

namespace weft {

inline constexpr size_t kMaxEmbeddingInputs = 2048;  // in one request, as OpenAI has it

enum class EmbeddingPooling { kDefault, kLast, kMean };
// Whose answer it is: OpenAI's, vLLM's /pooling, Text Embeddings Inference's, Ollama's /api/embed
// and its /api/embeddings, of one text, llama-server's.
enum class EmbeddingShape { kOpenAi, kPooling, kTei, kOllama, kOllamaOne, kLlama };

struct EmbeddingRequest {
  std::optional<std::string> model;
  PromptList input;
  std::string input_name = "input";  // or "inputs"
  EmbeddingFormat format = EmbeddingFormat::kFloat;
  std::optional<int32_t>
      dimensions;  // >= 1; whether the model has as many is the server's to check
  EmbeddingPooling pooling = EmbeddingPooling::kDefault;
  bool normalizes = true;   // to length 1
  std::string prompt_name;  // of the model's; empty: its default
  TruncationFields truncation;
  EmbeddingShape shape = EmbeddingShape::kOpenAi;
  int32_t unknown_field_count = 0;  // ignored
};

enum class PoolingTask { kEmbed, kClassify };

// vLLM's: a vector for each text, or what a classifier says of it.
struct PoolingRequest {
  std::optional<PoolingTask> task;  // nullopt: what the model is for
  EmbeddingRequest embedding;       // kClassify: its model, input and truncation
  bool raw_scores = false;          // kClassify: logits
};

// Errors name the field by its JSON path.
ApiResult<EmbeddingRequest> ParseEmbeddingRequest(std::string_view body);
ApiResult<EmbeddingRequest> ParseTeiEmbedRequest(std::string_view body);
// llama-server's /embedding.
ApiResult<EmbeddingRequest> ParseLlamaEmbeddingRequest(std::string_view body);
ApiResult<PoolingRequest> ParsePoolingRequest(std::string_view body);

}  // namespace weft
