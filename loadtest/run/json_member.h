// Reading JSON that may be anything.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace weft {

// The member of an object; null if it has none of that name, or is no object.
const nlohmann::json& Member(const nlohmann::json& object, const char* name);

std::string StringOr(const nlohmann::json& value, std::string_view fallback);

}  // namespace weft
