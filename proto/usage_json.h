// What the usage of all kinds of answers has in common. Include from .cc files only.
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

namespace weft {

// {"prompt_tokens":..,"completion_tokens":..,"total_tokens":..}
nlohmann::ordered_json UsageCountsJson(int64_t prompt_tokens, int64_t completion_tokens);

}  // namespace weft
