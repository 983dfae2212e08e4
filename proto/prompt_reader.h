// The field that holds one prompt or several. Include from .cc files only.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/prompt.h"

namespace weft {

// A string, an array of strings, an array of token ids, or an array of arrays of token ids; at most
// `max_count` prompts. Errors name the place.
ApiResult<PromptList> ReadPrompts(const nlohmann::json& body, const std::string& name,
                                  size_t max_count);

}  // namespace weft
