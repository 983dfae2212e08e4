// The receiving end of server-sent events (WHATWG HTML, section 9.2): bytes in, as they arrive;
// the data of whole events out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class SseParser {
 public:
  // The data of every event that `bytes` completes, in order. Lines may end in LF, CR LF or CR;
  // an event's data lines are joined by LF; comments and other fields are skipped.
  std::vector<std::string> Feed(std::string_view bytes);

  // Bytes of an event that has not ended yet.
  size_t pending_bytes() const { return line_.size() + data_.size(); }

 private:
  void EndLine(std::vector<std::string>& events);

  std::string line_;
  std::string data_;
  bool has_data_ = false;
  bool after_carriage_return_ = false;  // an LF now belongs to the line end already seen
};

}  // namespace weft
