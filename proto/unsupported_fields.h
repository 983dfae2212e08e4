// Fields of OpenAI's API or of other servers that would change the answer and that an endpoint does
// not have. Include from .cc files only.
#pragma once

#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"

namespace weft {

struct UnsupportedField {
  std::string_view name;
  std::string_view neutral;  // JSON text of the value that changes nothing; null never does
};

// Refuses them by name (code "unsupported_parameter") unless their value changes nothing: clients
// send their defaults.
ApiResult<void> RefuseUnsupported(const nlohmann::json& body,
                                  std::span<const UnsupportedField> fields);

}  // namespace weft
