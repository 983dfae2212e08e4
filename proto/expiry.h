// How long files are kept, where a client says so.
#pragma once

#include <cstdint>

namespace weft {

inline constexpr int32_t kMinExpirySeconds = 3600;
inline constexpr int32_t kMaxExpirySeconds = 30 * 24 * 3600;  // what is kept unless they say

}  // namespace weft
