// Times as people write them.
#pragma once

#include <chrono>
#include <string_view>

#include "base/result.h"

namespace weft {

// "250ms", "30s", "1.5m", "2h" or "30", which is seconds: at most 1000 hours, not negative.
Result<std::chrono::nanoseconds> ParseDuration(std::string_view text);

}  // namespace weft
