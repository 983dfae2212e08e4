// Which Weft this is.
#pragma once

#include <string_view>

namespace weft {

std::string_view Version();  // "0.1.0"

}  // namespace weft
