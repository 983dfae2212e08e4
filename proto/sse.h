// Server-sent events (WHATWG HTML, section 9.2) as OpenAI's streams use them.
#pragma once

#include <string>
#include <string_view>

namespace weft {

inline constexpr std::string_view kSseDone = "data: [DONE]\n\n";

// `json` is one line.
inline std::string SseEvent(std::string_view json) {
  std::string event = "data: ";
  event += json;
  event += "\n\n";
  return event;
}

// With a name, for streams whose events have several shapes.
inline std::string SseEvent(std::string_view name, std::string_view json) {
  std::string event = "event: ";
  event += name;
  event += '\n';
  return event + SseEvent(json);
}

}  // namespace weft
