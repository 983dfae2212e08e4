// What names of functions consist of, in requests and in models' replies.
#pragma once

#include <cstddef>

#include "base/ascii.h"

namespace weft {

constexpr bool IsToolNameCharacter(char c) {
  return IsAsciiAlphanumeric(c) || c == '_' || c == '-' || c == '.' || c == ':' || c == '/';
}

// What stands in a reply where a name, an id or a parameter's name may stand is none if it is
// longer.
inline constexpr size_t kMaxReplyNameBytes = 512;

}  // namespace weft
