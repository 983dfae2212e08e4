// The bodies of POST /classify and /predict, validated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/api_error.h"
#include "proto/prompt.h"
#include "proto/truncation.h"

namespace weft {

inline constexpr size_t kMaxClassifiedTexts = 100'000;  // in one request

// vLLM's.
struct ClassifyRequest {
  std::optional<std::string> model;
  PromptList input;
  TruncationFields truncation;
  bool raw_scores = false;          // logits
  int32_t unknown_field_count = 0;  // ignored
};

// One text, or two that are read together.
struct PredictedText {
  std::string first;
  std::optional<std::string> second;
};

// Text Embeddings Inference's.
struct PredictRequest {
  std::optional<std::string> model;
  std::vector<PredictedText> inputs;  // not empty
  bool is_batch = false;              // errors then name inputs[i]
  TruncationFields truncation;
  bool raw_scores = false;
  int32_t unknown_field_count = 0;
};

// Errors name the field by its JSON path.
ApiResult<ClassifyRequest> ParseClassifyRequest(std::string_view body);
ApiResult<PredictRequest> ParsePredictRequest(std::string_view body);

}  // namespace weft
