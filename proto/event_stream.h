// The receiving end of server-sent events (WHATWG HTML, section 9.2): bytes in, as they arrive;
// the data of whole events out. Nothing is copied of an event that one piece of bytes holds whole,
// and however small the pieces are, no byte is looked at again in the next one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

class EventStream {
 public:
  // More bytes, which stay where they are until Next has returned false. Only then again.
  void Feed(std::string_view bytes) { bytes_ = bytes; }

  // The data of the next event that is complete, valid until the next call; false if there is none.
  // Lines may end in LF, CR LF or CR; an event's data lines are joined by LF; comments and other
  // fields are skipped.
  bool Next(std::string_view& data);

  // That are kept of an event that has not ended yet.
  size_t pending_bytes() const { return line_.size() + data_.size(); }

 private:
  bool NextLine(std::string_view& line);
  void AddData(std::string_view value);
  void KeepData();

  std::string_view bytes_;  // fed, and not read yet
  std::string line_;        // the beginning of a line whose end has not come
  std::string data_;        // of the event so far, unless it is in_bytes_
  std::string_view in_bytes_;
  bool has_data_ = false;
  bool is_in_bytes_ = false;            // the event's data is one line of what was fed
  bool line_has_ended_ = false;         // the line that NextLine has given out is line_
  bool after_carriage_return_ = false;  // an LF now belongs to the line's end, already seen
};

}  // namespace weft
