#include "proto/event_stream.h"

#include <algorithm>
#include <utility>

namespace weft {

bool EventStream::Next(std::string_view& data) {
  if (!has_data_) data_.clear();  // of the event that was given out
  std::string_view line;
  while (NextLine(line)) {
    if (line.empty()) {  // the end of an event
      if (!std::exchange(has_data_, false)) continue;
      data = std::exchange(is_in_bytes_, false) ? in_bytes_ : data_;
      return true;
    }
    const size_t colon = std::min(line.find(':'), line.size());
    if (line.substr(0, colon) != "data") continue;
    std::string_view value = line.substr(std::min(colon + 1, line.size()));
    if (value.starts_with(' ')) value.remove_prefix(1);
    AddData(value);
  }
  KeepData();
  return false;
}

bool EventStream::NextLine(std::string_view& line) {
  if (std::exchange(line_has_ended_, false)) line_.clear();
  if (!bytes_.empty() && std::exchange(after_carriage_return_, false) && bytes_.front() == '\n') {
    bytes_.remove_prefix(1);
  }
  const size_t line_feed = bytes_.find('\n');
  const size_t carriage_return = bytes_.substr(0, line_feed).find('\r');
  const size_t end = std::min(line_feed, carriage_return);
  if (end == std::string_view::npos) {
    line_ += bytes_;
    bytes_ = {};
    return false;
  }
  line = bytes_.substr(0, end);
  if (!line_.empty()) {
    line_ += line;
    line = line_;
    line_has_ended_ = true;
  }
  after_carriage_return_ = bytes_[end] == '\r';
  bytes_.remove_prefix(end + 1);
  return true;
}

void EventStream::AddData(std::string_view value) {
  if (!std::exchange(has_data_, true)) {
    in_bytes_ = value;
    is_in_bytes_ = true;
    if (line_has_ended_) KeepData();
    return;
  }
  KeepData();
  data_ += '\n';
  data_ += value;
}

void EventStream::KeepData() {
  if (std::exchange(is_in_bytes_, false)) data_ = in_bytes_;
}

}  // namespace weft
