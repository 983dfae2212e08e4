#include "loadtest/run/sse_parser.h"

#include <utility>

namespace weft {

std::vector<std::string> SseParser::Feed(std::string_view bytes) {
  std::vector<std::string> events;
  for (const char byte : bytes) {
    const bool completes_crlf = byte == '\n' && after_carriage_return_;
    after_carriage_return_ = byte == '\r';
    if (completes_crlf) continue;
    if (byte == '\n' || byte == '\r') {
      EndLine(events);
    } else {
      line_.push_back(byte);
    }
  }
  return events;
}

void SseParser::EndLine(std::vector<std::string>& events) {
  const std::string line = std::exchange(line_, {});
  if (line.empty()) {  // the end of an event
    if (has_data_) events.push_back(std::exchange(data_, {}));
    has_data_ = false;
    return;
  }
  const size_t colon = std::min(line.find(':'), line.size());
  if (std::string_view(line).substr(0, colon) != "data") return;
  std::string_view value = std::string_view(line).substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (has_data_) data_.push_back('\n');
  data_ += value;
  has_data_ = true;
}

}  // namespace weft
