// The conversation and the tools of Anthropic's API in the shapes of OpenAI's, which chat templates
// read. Include from .cc files only.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/chat/chat_request.h"

namespace weft {

// `system`, a string or text blocks, and `messages`: CheckMessages has nothing to say against what
// comes out. Errors name the path in what comes in.
ApiResult<nlohmann::ordered_json> ReadAnthropicMessages(const nlohmann::ordered_json* system,
                                                        const nlohmann::ordered_json& messages);

// `tools`, into the request's. Those that Anthropic's servers run are left out or refused by name,
// as the rules say; other types of Anthropic's are refused.
ApiResult<void> ReadAnthropicTools(const nlohmann::ordered_json& tools, const RequestRules& rules,
                                   ChatRequest& request);

}  // namespace weft
