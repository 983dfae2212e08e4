#include "loadtest/run/event_stream.h"

#include <algorithm>

namespace weft {

void EventStream::Feed(std::string_view bytes) {
  if (after_carriage_return_ && !bytes.empty()) {
    after_carriage_return_ = false;
    if (bytes.front() == '\n') bytes.remove_prefix(1);
  }
  event_begin_ = 0;
  line_begin_ = 0;
  if (pending_.empty()) {
    bytes_ = bytes;
  } else {
    pending_ += bytes;
    bytes_ = pending_;
  }
}

bool EventStream::Next(std::string_view& data) {
  bool has_data = false;
  std::string_view line;
  while (NextLine(line)) {
    if (line.empty()) {  // the end of an event
      event_begin_ = line_begin_;
      if (has_data) return true;
      continue;
    }
    const size_t colon = std::min(line.find(':'), line.size());
    if (line.substr(0, colon) != "data") continue;
    std::string_view value = line.substr(std::min(colon + 1, line.size()));
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (has_data) {
      if (data.data() != joined_.data()) joined_ = data;
      joined_ += '\n';
      joined_ += value;
      data = joined_;
    } else {
      data = value;
      has_data = true;
    }
  }
  KeepRest();
  return false;
}

bool EventStream::NextLine(std::string_view& line) {
  const std::string_view rest = bytes_.substr(line_begin_);
  const size_t line_feed = rest.find('\n');
  const size_t carriage_return = rest.substr(0, line_feed).find('\r');
  const size_t end = std::min(line_feed, carriage_return);
  if (end == std::string_view::npos) return false;
  line = rest.substr(0, end);
  // At the end of what has come, nobody knows yet whether a CR has an LF behind it. It matters if
  // it ended an event: then the event is given out, and nothing of it is kept.
  if (end + 1 == rest.size() && line.empty()) after_carriage_return_ = rest[end] == '\r';
  const bool is_pair = end == carriage_return && end + 1 == line_feed;
  line_begin_ += end + (is_pair ? 2 : 1);
  return true;
}

void EventStream::KeepRest() {
  if (bytes_.data() == pending_.data() && !pending_.empty()) {
    pending_.erase(0, event_begin_);
  } else {
    pending_ = bytes_.substr(event_begin_);
  }
  bytes_ = {};
  event_begin_ = 0;
  line_begin_ = 0;
}

}  // namespace weft
