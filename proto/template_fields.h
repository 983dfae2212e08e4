// Fields of a request whose members keep their order, because templates print them. Include from
// .cc files only.
#pragma once

#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"

namespace weft {

struct ChatRequest;

// Moves the fields of these names out of `body`; what is left, which it returns, goes to the
// readers of plain fields.
nlohmann::json SplitFields(nlohmann::ordered_json& body, std::span<const std::string_view> names,
                           nlohmann::ordered_json& fields);

// "documents", an array of objects.
ApiResult<void> ReadDocuments(nlohmann::ordered_json& fields, ChatRequest& request);
// "chat_template_kwargs".
ApiResult<void> ReadTemplateVariables(nlohmann::ordered_json& fields, ChatRequest& request);

}  // namespace weft
