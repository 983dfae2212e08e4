// The field that holds one prompt or several. Include from .cc files only.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/prompt.h"

namespace weft {

// kMixed, as llama.cpp's server has it: prompts of a request may be of several kinds, each may mix
// strings and token ids, and {"prompt_string"} and {"content": [{"type": "text"}]} are texts, too.
enum class PromptKinds { kOne, kMixed };

// A string, an array of strings, an array of token ids, or an array of arrays of token ids; at most
// `max_count` prompts. Errors name the place.
ApiResult<PromptList> ReadPrompts(const nlohmann::json& body, const std::string& name,
                                  size_t max_count, PromptKinds kinds = PromptKinds::kOne);

}  // namespace weft
