// The text of a JSON value. Include from .cc files only: nlohmann's header is heavy.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace weft {

// Compact, on one line. Bytes that are not UTF-8 become U+FFFD: a model may write anything.
std::string DumpJson(const nlohmann::json& value);
std::string DumpJson(const nlohmann::ordered_json& value);

}  // namespace weft
