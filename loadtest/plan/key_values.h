// "name=chat,weight=3,prompt-tokens=normal:512,128": options within an option.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace weft {

using KeyValues = std::vector<std::pair<std::string_view, std::string_view>>;

// In their order; the views point into `text`. A comma ends a value only if another KEY= follows,
// so values may have commas. No key is empty or stands twice.
Result<KeyValues> ParseKeyValues(std::string_view text);

}  // namespace weft
