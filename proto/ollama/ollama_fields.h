// Fields that several of Ollama's endpoints have. Include from .cc files only.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/generation_request.h"

namespace weft {

// "options" of a request that generates: sampling and length, by the names that all endpoints know
// besides Ollama's own, which say what machine to use and do nothing here. Unknown ones count.
// Errors name the path, "options.top_k".
ApiResult<void> ReadOllamaOptions(const nlohmann::json& body, GenerationRequest& request,
                                  std::optional<int32_t>& num_ctx);

// "options" of one that does not: "num_ctx" alone says something.
ApiResult<void> ReadOllamaContext(const nlohmann::json& body, std::optional<int32_t>& num_ctx);

// "keep_alive", as ParseKeepAlive or a number of seconds; nullopt: it is not there, or "".
ApiResult<std::optional<std::chrono::milliseconds>> ReadKeepAlive(const nlohmann::json& body);

}  // namespace weft
