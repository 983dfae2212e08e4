// Dates as JSON has them.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

// Of seconds since 1970, in UTC: "2026-11-26T06:22:00Z".
std::string Rfc3339(int64_t seconds);

}  // namespace weft
