// What the usage of all kinds of answers has in common. Include from .cc files only.
#pragma once

#include <cstdint>
#include <optional>

#include <nlohmann/json.hpp>

namespace weft {

// {"prompt_tokens":..,"completion_tokens":..,"total_tokens":..}
nlohmann::ordered_json UsageCountsJson(int64_t prompt_tokens, int64_t completion_tokens);

// {"prompt_tokens":..,"total_tokens":..} of what generates nothing; with "truncated_tokens", those
// that were dropped, where it was asked for.
nlohmann::ordered_json PooledUsageJson(int64_t prompt_tokens,
                                       std::optional<int64_t> truncated_tokens);

}  // namespace weft
