// Files that are read a line at a time: traces and prompts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

inline constexpr uint64_t kMaxTextFileBytes = uint64_t{4} << 30;
inline constexpr size_t kMaxLineBytes = size_t{64} << 20;

// Calls `read(line)` for every line that is not blank, without its end (LF or CRLF). The error of
// `read` ends the reading and gets "PATH:LINE: " before it; no file, or a file or line that is too
// large, is an error as well.
Result<void> ReadLines(const std::string& path,
                       const std::function<Result<void>(std::string_view line)>& read);

}  // namespace weft
