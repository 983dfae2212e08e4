// Arguments of tool calls in a conversation: JSON in strings, which templates want as objects.
// Include from .cc files only.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"

namespace weft {

// Whether the arguments of all calls, those that are text together, are within kMaxJsonValues and
// each within kMaxJsonDepth: what takes long to parse and to print is refused before a document is
// made of it. Text that is not JSON counts up to where it no longer is. `path` is what the request
// calls `messages`, which are as CheckMessages left them. Errors: status 400, "too_many_values" or
// "json_too_deep".
ApiResult<void> CheckCallArguments(const nlohmann::ordered_json& messages, std::string_view path);

}  // namespace weft
