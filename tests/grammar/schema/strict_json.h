// Texts that a machine has accepted, read by somebody else.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace weft {

// nullopt: it is no JSON, or has a name twice.
std::optional<nlohmann::ordered_json> ParseStrictly(const std::string& text);

// Whether it has digits that look like a number which doubles, as they are in the parsed value, do
// not hold.
bool HasLongNumber(std::string_view text);

}  // namespace weft
