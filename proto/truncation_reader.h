// How a request wants texts to be cut that have too many tokens. Include from .cc files only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/truncation.h"

namespace weft {

inline constexpr std::array<std::string_view, 5> kTruncationFields = {
    "truncate", "truncation", "truncate_prompt_tokens", "truncation_direction", "truncation_side"};

// "truncate" (Text Embeddings Inference) and "truncation" (Jina) are the same, as are
// "truncation_direction" and "truncation_side" (vLLM); "truncate_prompt_tokens" (vLLM) is a number,
// or -1. Errors name the field.
ApiResult<TruncationFields> ReadTruncation(const nlohmann::json& body);

}  // namespace weft
