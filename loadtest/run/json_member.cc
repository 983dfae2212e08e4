#include "loadtest/run/json_member.h"

#include <nlohmann/json.hpp>

namespace weft {

const nlohmann::json& Member(const nlohmann::json& object, const char* name) {
  static const nlohmann::json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

std::string StringOr(const nlohmann::json& value, std::string_view fallback) {
  return value.is_string() ? value.get<std::string>() : std::string(fallback);
}

}  // namespace weft
