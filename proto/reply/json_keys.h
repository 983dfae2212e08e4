// What models call the members of a call that is written as a JSON object.
#pragma once

#include <string_view>

namespace weft {

inline bool IsNameKey(std::string_view key) { return key == "name" || key == "tool_name"; }
inline bool IsArgumentsKey(std::string_view key) {
  return key == "arguments" || key == "parameters";
}

}  // namespace weft
