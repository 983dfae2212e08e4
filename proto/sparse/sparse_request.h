// The body of POST /embed_sparse, validated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/api_error.h"
#include "proto/prompt.h"
#include "proto/truncation.h"

namespace weft {

inline constexpr size_t kMaxSparseInputs = 2048;  // in one request

// Text Embeddings Inference's.
struct SparseRequest {
  std::optional<std::string> model;
  PromptList inputs;
  std::string prompt_name;  // of the model's; empty: its default
  TruncationFields truncation;
  int32_t unknown_field_count = 0;  // ignored
};

// Errors name the field by its JSON path.
ApiResult<SparseRequest> ParseSparseRequest(std::string_view body);

}  // namespace weft
