#include "loadtest/run/stream_reader.h"

#include <boost/asio/error.hpp>

namespace weft {

bool StreamReader::OnRead(const boost::system::error_code& error, std::string_view bytes) {
  if (error) {
    const bool ends_so = error == boost::asio::error::eof && framing_.Close();
    if (!ends_so) error_ = error;
    return false;
  }
  Take(bytes, Clock::now());
  return goes_on() && !is_paused();
}

void StreamReader::Take(std::string_view bytes, Clock::time_point now) {
  const int64_t tokens_before = reader_.token_count();
  for (;;) {
    const std::string_view content = framing_.Next(bytes);
    if (content.empty()) break;
    reader_.ReadEvents(content);
  }
  reader_.MarkArrival(now);
  live_token_count_ += reader_.token_count() - tokens_before;
  has_rest_ = !bytes.empty();
  if (framing_.error() != nullptr && !reader_.failed()) {
    reader_.Fail("bad response", framing_.error());
  }
}

}  // namespace weft
