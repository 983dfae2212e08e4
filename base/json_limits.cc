#include "base/json_limits.h"

namespace weft {
namespace {

// Behind the string whose first quote stands at `quote`.
size_t EndOfString(std::string_view text, size_t quote) {
  size_t i = quote + 1;
  while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
  return i + 1;
}

}  // namespace

Result<void> CheckJsonLimits(std::string_view text, const JsonLimits& limits,
                             std::string_view path) {
  if (text.size() > limits.max_bytes) {
    return Fail(ErrorCode::kCorrupt, "{}: has {} bytes, expected at most {}", path, text.size(),
                limits.max_bytes);
  }
  // A value is the first of its container, or stands behind a comma. (An empty container counts as
  // if it had one.)
  int64_t value_count = 1;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        i = EndOfString(text, i) - 1;
        break;
      case '[':
      case '{':
        ++value_count;
        if (++depth > limits.max_depth) {
          return Fail(ErrorCode::kCorrupt, "{}: nested more than {} deep at its byte {}", path,
                      limits.max_depth, i);
        }
        break;
      case ']':
      case '}':
        --depth;
        break;
      case ',':
        ++value_count;
        break;
      default:
        break;
    }
    if (value_count > limits.max_values) {
      return Fail(ErrorCode::kCorrupt, "{}: more than {} values, the last one at its byte {}", path,
                  limits.max_values, i);
    }
  }
  return {};
}

}  // namespace weft
