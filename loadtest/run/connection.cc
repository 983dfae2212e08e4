#include "loadtest/run/connection.h"

#include <algorithm>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace weft {
namespace {

namespace asio = boost::asio;

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

// Ten thousand streams wait with a buffer each: small ones, until a read fills one.
constexpr size_t kLeastReadBytes = 2 << 10;
constexpr size_t kMostReadBytes = 64 << 10;

}  // namespace

ClientConnection::ClientConnection(asio::io_context& context, const Target& target)
    : target_(target), socket_(context), read_size_bytes_(kLeastReadBytes) {}

asio::awaitable<ClientConnection::ErrorCode> ClientConnection::Connect() {
  ErrorCode error = asio::error::host_not_found;
  for (const auto& endpoint : target_.endpoints) {
    if (expired_) break;
    Close();
    std::tie(error) = co_await socket_.async_connect(endpoint, kAsTuple);
    if (!error) break;
  }
  if (!error && expired_) error = asio::error::operation_aborted;
  if (error) co_return error;
  open_ = true;
  ErrorCode ignored;  // a Unix socket has no such option, and needs none
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  if (target_.tls) error = co_await Handshake();
  co_return error;
}

asio::awaitable<ClientConnection::ErrorCode> ClientConnection::Handshake() {
  tls_ = std::make_unique<asio::ssl::stream<Socket&>>(socket_, *target_.tls);
  if (target_.verify_certificate) {
    tls_->set_verify_mode(asio::ssl::verify_peer);
    tls_->set_verify_callback(asio::ssl::host_name_verification(target_.url.host));
  }
  // Fails only without memory; the server then chooses a certificate by itself.
  SSL_ctrl(tls_->native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
           const_cast<char*>(target_.url.host.c_str()));
  const auto [error] = co_await tls_->async_handshake(asio::ssl::stream_base::client, kAsTuple);
  co_return error;
}

asio::awaitable<ClientConnection::ErrorCode> ClientConnection::Write(std::string_view bytes) {
  const auto whole = asio::buffer(bytes);
  if (tls_) {
    const auto [error, count] = co_await asio::async_write(*tls_, whole, kAsTuple);
    co_return error;
  }
  const auto [error, count] = co_await asio::async_write(socket_, whole, kAsTuple);
  co_return error;
}

asio::awaitable<ClientConnection::ErrorCode> ClientConnection::Read() {
  const auto space = buffer.prepare(read_size_bytes_);
  ErrorCode error;
  size_t count = 0;
  if (tls_) {
    std::tie(error, count) = co_await tls_->async_read_some(space, kAsTuple);
    if (error == asio::ssl::error::stream_truncated) error = asio::error::eof;
  } else {
    std::tie(error, count) = co_await socket_.async_read_some(space, kAsTuple);
  }
  buffer.commit(count);
  if (count == read_size_bytes_) {
    read_size_bytes_ = std::min(2 * read_size_bytes_, kMostReadBytes);
  }
  co_return error;
}

void ClientConnection::Close() {
  open_ = false;
  ErrorCode ignored;
  socket_.close(ignored);
  tls_.reset();
  buffer.clear();
}

void ClientConnection::StartClock(Clock::time_point deadline) {
  deadline_ = deadline;
  expired_ = false;
}

void ClientConnection::Expire(Clock::time_point now) {
  if (now < deadline_ || expired_) return;
  expired_ = true;
  ErrorCode ignored;  // the operation that waits ends; its coroutine closes the rest
  socket_.close(ignored);
}

}  // namespace weft
