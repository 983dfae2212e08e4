// The items that conversations of /v1/responses are made of, and the messages that chat templates
// make of them. Include from .cc files only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/responses/response_tools.h"

namespace weft {

// `input`: a string (a user's message) or an array of items. Afterwards it is an array of items as
// the API returns them, with an "id" where the client has sent one: "message" (content is an array
// of input_text, output_text or refusal), "function_call", "function_call_output",
// "custom_tool_call", "custom_tool_call_output", "reasoning", "compaction"; and "item_reference",
// which has an id and nothing else. Errors name the path.
ApiResult<void> CheckInputItems(nlohmann::ordered_json& input);

// The messages of a conversation, as CheckMessages would leave them; references are resolved
// already. What belongs to one turn of the assistant (reasoning, text, calls) becomes one message;
// calls have the names that the model hears.
// The first `history_count` items are not the request's own: paths in errors count from there.
ApiResult<nlohmann::ordered_json> MessagesOfItems(const std::vector<nlohmann::ordered_json>& items,
                                                  size_t history_count,
                                                  const std::optional<std::string>& instructions,
                                                  const ResponseTools& tools);

}  // namespace weft
