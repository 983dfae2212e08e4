// The receiving end of server-sent events (WHATWG HTML, section 9.2): bytes in, as they arrive;
// the data of whole events out. Nothing is copied of an event that one read holds whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

class EventStream {
 public:
  // More bytes, which stay where they are until Next has returned false. Only then again.
  void Feed(std::string_view bytes);

  // The data of the next event that is complete, valid until the next call; false if there is none.
  // Lines may end in LF, CR LF or CR; an event's data lines are joined by LF; comments and other
  // fields are skipped.
  bool Next(std::string_view& data);

  // Bytes of an event that has not ended yet.
  size_t pending_bytes() const { return pending_.size(); }

 private:
  bool NextLine(std::string_view& line);
  void KeepRest();

  std::string_view bytes_;  // what has been fed, or pending_
  size_t event_begin_ = 0;  // in bytes_
  size_t line_begin_ = 0;
  std::string pending_;                 // the beginning of an event whose end has not come
  std::string joined_;                  // data lines, if there are several
  bool after_carriage_return_ = false;  // an LF now belongs to the event's end, already seen
};

}  // namespace weft
