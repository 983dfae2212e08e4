#include "loadtest/run/connection.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <sys/socket.h>

namespace weft {
namespace {

namespace asio = boost::asio;

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

// Ten thousand streams wait with a buffer each: small ones, until a read fills one.
constexpr size_t kLeastReadBytes = 2 << 10;
constexpr size_t kMostReadBytes = 64 << 10;

}  // namespace

ClientConnection::ClientConnection(asio::io_context& context, const Target& target,
                                   ReadPoller* poller)
    : target_(target), poller_(poller), socket_(context), read_size_bytes_(kLeastReadBytes) {}

ClientConnection::~ClientConnection() {
  if (polled_ >= 0) ::close(polled_);  // the run was interrupted
}

asio::awaitable<ClientConnection::ErrorCode> ClientConnection::Connect() {
  ErrorCode error = asio::error::host_not_found;
  for (const auto& endpoint : target_.endpoints) {
    if (expired_) break;
    Close();
    protocol_ = endpoint.protocol();
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

template <typename Token>
auto ClientConnection::ReadSome(asio::mutable_buffer space, Token&& token) {
  return tls_ ? tls_->async_read_some(space, std::forward<Token>(token))
              : socket_.async_read_some(space, std::forward<Token>(token));
}

asio::awaitable<ClientConnection::ErrorCode> ClientConnection::Read() {
  const auto [error, count] = co_await ReadSome(buffer.prepare(read_size_bytes_), kAsTuple);
  buffer.commit(count);
  co_return TakeRead(error, count);
}

ClientConnection::ErrorCode ClientConnection::TakeRead(ErrorCode error, size_t count) {
  if (count == read_size_bytes_) {
    read_size_bytes_ = std::min(2 * read_size_bytes_, kMostReadBytes);
  }
  return error == asio::ssl::error::stream_truncated ? asio::error::eof : error;
}

struct ClientConnection::AsioLoop {
  ClientConnection& connection;
  ReadSink& sink;
  asio::steady_timer& end;

  void Next() {
    const auto space = connection.buffer.prepare(connection.read_size_bytes_);
    connection.ReadSome(space, [this, space](ErrorCode error, size_t count) {
      const std::string_view bytes(static_cast<const char*>(space.data()), count);
      if (sink.OnRead(connection.TakeRead(error, count), bytes)) {
        Next();
      } else {
        end.cancel();
      }
    });
  }
};

asio::awaitable<void> ClientConnection::ReadWhile(ReadSink& sink) {
  if (GiveToPoller()) {
    const bool was_read = co_await poller_->ReadWhile(polled_, sink);
    TakeFromPoller();
    if (was_read) co_return;
  }
  asio::steady_timer end(socket_.get_executor(), Clock::time_point::max());
  AsioLoop loop{.connection = *this, .sink = sink, .end = end};
  loop.Next();
  co_await end.async_wait(kAsTuple);
}

bool ClientConnection::GiveToPoller() {
  if (tls_ || poller_ == nullptr || !socket_.is_open()) return false;
  ErrorCode error;
  polled_ = socket_.release(error);
  return !error;
}

void ClientConnection::TakeFromPoller() {
  ErrorCode error;
  const int socket = std::exchange(polled_, -1);
  if (socket < 0) return;
  socket_.assign(protocol_, socket, error);
  if (!error) return;
  ::close(socket);
  open_ = false;
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
  // What waits ends; its coroutine closes the rest.
  if (polled_ >= 0) shutdown(polled_, SHUT_RDWR);
  ErrorCode ignored;
  socket_.close(ignored);
}

}  // namespace weft
