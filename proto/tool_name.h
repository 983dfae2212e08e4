// What names of functions consist of, in requests and in models' replies.
#pragma once

#include "base/ascii.h"

namespace weft {

constexpr bool IsToolNameCharacter(char c) {
  return IsAsciiAlphanumeric(c) || c == '_' || c == '-' || c == '.' || c == ':' || c == '/';
}

}  // namespace weft
