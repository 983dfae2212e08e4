#include "server/retry_after.h"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace weft {

std::chrono::milliseconds RetryDelay(std::chrono::milliseconds expected,
                                     std::string_view request_id) {
  using std::chrono::milliseconds;
  constexpr milliseconds kLeast{1000};
  constexpr milliseconds kMost{60'000};
  const int64_t base = std::clamp(expected, kLeast, kMost / 3 * 2).count();
  const auto hash = static_cast<uint64_t>(std::hash<std::string_view>()(request_id));
  return milliseconds(base + static_cast<int64_t>(hash % static_cast<uint64_t>(base / 2 + 1)));
}

}  // namespace weft
