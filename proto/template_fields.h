// Fields of a request whose members keep their order, because templates print them. Include from
// .cc files only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/unsupported_fields.h"

namespace weft {

struct ChatRequest;
struct RequestRules;

// A body's fields, by who reads them.
struct SplitBody {
  nlohmann::ordered_json ordered = nlohmann::ordered_json::object();
  nlohmann::json plain = nlohmann::json::object();
  int32_t unknown_count = 0;  // of the others, which nobody reads
};

// Of an endpoint that generates: `ordered` are the fields that keep the order of their members,
// `plain` and `unsupported` the others that it knows besides those of sampling. Moves what it can;
// what nobody knows is not copied, whatever its size.
SplitBody SplitFields(nlohmann::ordered_json body, std::span<const std::string_view> ordered,
                      std::span<const std::string_view> plain,
                      std::span<const UnsupportedField> unsupported);

// "documents", an array of objects.
ApiResult<void> ReadDocuments(nlohmann::ordered_json& fields, ChatRequest& request);
// "chat_template_kwargs".
ApiResult<void> ReadTemplateVariables(nlohmann::ordered_json& fields, ChatRequest& request);
// The variables that the rules have and the request has not; after all of its fields.
void AddTemplateDefaults(const RequestRules& rules, ChatRequest& request);

}  // namespace weft
