// A connection to the server under test: TCP, TLS or a Unix socket, kept alive between requests.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/system/error_code.hpp>

#include "loadtest/run/target.h"

namespace weft {

// One call at a time. `target` outlives it. Nothing here has a time limit of its own: a timer for
// every read would cost more than the read. Expire is called from outside, now and then.
class ClientConnection {
 public:
  using Clock = std::chrono::steady_clock;
  using ErrorCode = boost::system::error_code;

  ClientConnection(boost::asio::io_context& context, const Target& target);

  boost::asio::awaitable<ErrorCode> Connect();
  boost::asio::awaitable<ErrorCode> Write(std::string_view bytes);
  // Appends what has come, at least a byte, to `buffer`.
  boost::asio::awaitable<ErrorCode> Read();
  void Close();  // nothing waits
  bool is_open() const { return open_; }

  void StartClock(Clock::time_point deadline);
  // If its time is over: what waits for something ends with an error.
  void Expire(Clock::time_point now);
  bool expired() const { return expired_; }
  Clock::time_point deadline() const { return deadline_; }

  boost::beast::flat_buffer buffer;  // received, and not consumed yet
  std::string outgoing;              // the request; here to keep its memory
  size_t pool_index = 0;             // the pool's

 private:
  using Socket = boost::asio::generic::stream_protocol::socket;

  boost::asio::awaitable<ErrorCode> Handshake();

  const Target& target_;
  Socket socket_;
  std::unique_ptr<boost::asio::ssl::stream<Socket&>> tls_;
  bool open_ = false;
  bool expired_ = false;
  Clock::time_point deadline_ = Clock::time_point::max();
  size_t read_size_bytes_;
};

}  // namespace weft
