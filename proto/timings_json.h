// How timings look in an answer. Include from .cc files only.
#pragma once

#include <nlohmann/json.hpp>

#include "proto/timings.h"

namespace weft {

// {"queue_ms":..,"cache_n":..,"prompt_n":..,"prompt_ms":..,"prompt_per_token_ms":.., ...}. What
// would be a division by zero is 0.
nlohmann::ordered_json TimingsJson(const Timings& timings);

}  // namespace weft
