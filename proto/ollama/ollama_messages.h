// The conversation and the tools of Ollama's API in the shapes of OpenAI's, which chat templates
// read. Include from .cc files only.
#pragma once

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/request_rules.h"

namespace weft {

// Makes of `messages` what CheckMessages wants, and asks it: calls get ids, which answers that say
// the tool's name alone refer to, thinking becomes the message's reasoning. Errors name the path in
// what came in; images are refused by name, or left out.
ApiResult<void> ReadOllamaMessages(nlohmann::ordered_json& messages, const RequestRules& rules);

// The same of `tools`, whose type may be left out.
ApiResult<void> ReadOllamaTools(nlohmann::ordered_json& tools);

}  // namespace weft
