// Numbers as people write them: the whole text, or nothing.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace weft {

template <typename T>
std::optional<T> ParseWhole(std::string_view text) {
  T value = 0;
  const char* end = text.data() + text.size();
  std::from_chars_result result{};
  if constexpr (std::is_floating_point_v<T>) {
    result = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  } else {
    result = std::from_chars(text.data(), end, value);
  }
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

// "1%" or "0.01": 0 to 1.
Result<double> ParseShare(std::string_view text);

}  // namespace weft
