// Checks of one member of a JSON object, and what refusals of all endpoints say. Errors name the
// path. Include from .cc files only.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"

namespace weft {

// "'path' must be `expected`, not ...".
tl::unexpected<ApiError> RefuseValue(std::string path, std::string_view expected,
                                     const nlohmann::json& found);
tl::unexpected<ApiError> RefuseValue(std::string path, std::string_view expected,
                                     const nlohmann::ordered_json& found);
// "'path' is missing; `why`".
tl::unexpected<ApiError> RefuseMissing(std::string path, std::string_view why);
// Code "unsupported_value".
tl::unexpected<ApiError> RefuseUnsupportedValue(std::string path, std::string message);

// Of objects whose members keep their order: what conversations and tools are made of.
ApiResult<void> CheckOptionalString(const nlohmann::ordered_json& object, std::string_view name,
                                    const std::string& path);
ApiResult<void> CheckRequiredString(const nlohmann::ordered_json& object, std::string_view name,
                                    const std::string& path, std::string_view why);

// Whether it is "".
template <typename Json>
bool IsEmptyText(const Json& value) {
  return value.is_string() && value.template get_ref<const typename Json::string_t&>().empty();
}

}  // namespace weft
