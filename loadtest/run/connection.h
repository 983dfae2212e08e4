// A connection to the server under test: TCP, TLS or a Unix socket, kept alive between requests.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/system/error_code.hpp>

#include "loadtest/run/read_poller.h"
#include "loadtest/run/target.h"

namespace weft {

// One call at a time. `target` outlives it. Nothing here has a time limit of its own: a timer for
// every read would cost more than the read. Expire is called from outside, now and then.
class ClientConnection {
 public:
  using Clock = std::chrono::steady_clock;
  using ErrorCode = boost::system::error_code;

  // `poller`, if there is one, outlives its use.
  ClientConnection(boost::asio::io_context& context, const Target& target,
                   ReadPoller* poller = nullptr);
  ~ClientConnection();
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  boost::asio::awaitable<ErrorCode> Connect();
  boost::asio::awaitable<ErrorCode> Write(std::string_view bytes);
  // Appends what has come, at least a byte, to `buffer`.
  boost::asio::awaitable<ErrorCode> Read();
  // Reads on and on, until the sink wants no more; `buffer` is empty. For the tokens of a stream:
  // resuming a coroutine for each would cost more than all that is done with it.
  boost::asio::awaitable<void> ReadWhile(ReadSink& sink);
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
  // With the context's own executor, since the general one costs at every read.
  using Socket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol,
                                                  boost::asio::io_context::executor_type>;
  struct AsioLoop;

  boost::asio::awaitable<ErrorCode> Handshake();
  template <typename Token>
  auto ReadSome(boost::asio::mutable_buffer space, Token&& token);
  ErrorCode TakeRead(ErrorCode error, size_t count);

  bool GiveToPoller();
  void TakeFromPoller();

  const Target& target_;
  ReadPoller* poller_;
  boost::asio::generic::stream_protocol protocol_{0, 0};  // of socket_
  Socket socket_;
  int polled_ = -1;  // the socket while the poller has it: then socket_ is none
  std::unique_ptr<boost::asio::ssl::stream<Socket&>> tls_;
  bool open_ = false;
  bool expired_ = false;
  Clock::time_point deadline_ = Clock::time_point::max();
  size_t read_size_bytes_;
};

}  // namespace weft
