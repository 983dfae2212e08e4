// TLS over a socket, the server's side.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/system/error_code.hpp>

#include "server/http/stream_socket.h"
#include "server/http/tls_context.h"

struct ssl_st;

namespace weft {

// OpenSSL reads from the socket itself, a record at a time, and only when it is asked for bytes: so
// what the kernel says of the socket (readable, closed) means the same as without TLS, and an idle
// connection holds little. Used on the socket's strand, one operation at a time. The socket
// outlives this; once it is closed, every operation fails.
class TlsStream {
 public:
  TlsStream(std::shared_ptr<const TlsContext> context, StreamSocket& socket);

  struct Transferred {
    boost::system::error_code error;  // eof: the client has said that no more will come
    size_t byte_count = 0;
  };
  enum class TryResult { kWritten, kNotNow, kBroken };

  // Before anything else.
  boost::asio::awaitable<boost::system::error_code> Handshake();
  // After a handshake that failed: because what came was HTTP without TLS.
  bool found_plain_http() const { return found_plain_http_; }

  // At least one byte, unless there is an error.
  boost::asio::awaitable<Transferred> ReadSome(boost::asio::mutable_buffer space);
  boost::asio::awaitable<Transferred> WriteSome(std::string_view data);
  // Does not wait: the error would_block, if nothing has come.
  Transferred TryRead(boost::asio::mutable_buffer space);
  // Does not wait. All of it or nothing. After kNotNow the next thing to be written begins with the
  // same bytes.
  TryResult TryWrite(std::string_view data);
  // Whether bytes have been read from the socket that ReadSome has not returned.
  bool has_pending() const;
  // Says, as far as that can be done without waiting, that no more will come.
  void SendClose();

 private:
  struct Delete {
    void operator()(ssl_st* ssl) const;
  };

  // What to do after a call of OpenSSL's that returned `result`, which is not success: waits until
  // it can be repeated, or says why it cannot.
  boost::asio::awaitable<boost::system::error_code> WaitAfter(int result);

  const std::shared_ptr<const TlsContext> context_;
  StreamSocket& socket_;
  const std::unique_ptr<ssl_st, Delete> ssl_;
  bool found_plain_http_ = false;
};

}  // namespace weft
