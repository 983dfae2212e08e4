#include "server/http/tls_stream.h"

#include <cerrno>
#include <new>
#include <utility>

#include <boost/asio/error.hpp>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "server/http/await.h"

namespace weft {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr int kEndOfFile = 0x800;  // among the flags of a BIO

// ---- OpenSSL's view of a StreamSocket. Its own would raise SIGPIPE, and remember the number of a
// file that may be another connection's by the time it is used.

int HandleOf(BIO* bio) { return static_cast<StreamSocket*>(BIO_get_data(bio))->native_handle(); }

bool IsTemporary(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

int WriteToSocket(BIO* bio, const char* data, size_t size, size_t* written) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = send(HandleOf(bio), data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    if (IsTemporary(errno)) BIO_set_retry_write(bio);
    return 0;
  }
  *written = static_cast<size_t>(sent);
  return 1;
}

int ReadFromSocket(BIO* bio, char* data, size_t size, size_t* read) {
  BIO_clear_retry_flags(bio);
  const ssize_t received = recv(HandleOf(bio), data, size, MSG_DONTWAIT);
  if (received <= 0) {
    if (received == 0) BIO_set_flags(bio, kEndOfFile);
    if (received < 0 && IsTemporary(errno)) BIO_set_retry_read(bio);
    return 0;
  }
  *read = static_cast<size_t>(received);
  return 1;
}

long ControlSocket(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, kEndOfFile) != 0 ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;  // nothing is held back
}

const BIO_METHOD* SocketMethod() {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* const method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "weft socket");
    if (method == nullptr) throw std::bad_alloc();
    BIO_meth_set_write_ex(method, WriteToSocket);
    BIO_meth_set_read_ex(method, ReadFromSocket);
    BIO_meth_set_ctrl(method, ControlSocket);
    return method;
  }();
  return kMethod;
}

}  // namespace

void TlsStream::Delete::operator()(ssl_st* ssl) const { SSL_free(ssl); }

TlsStream::TlsStream(std::shared_ptr<const TlsContext> context, StreamSocket& socket)
    : context_(std::move(context)), socket_(socket), ssl_(SSL_new(context_->get())) {
  BIO* const bio = BIO_new(SocketMethod());
  if (ssl_ == nullptr || bio == nullptr) throw std::bad_alloc();
  BIO_set_data(bio, &socket_);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);  // owns it
  SSL_set_accept_state(ssl_.get());
}

asio::awaitable<error_code> TlsStream::WaitAfter(int result) {
  const int saved_errno = errno;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ: {
      const auto [error] = co_await socket_.async_wait(asio::socket_base::wait_read, kAwait);
      co_return error;
    }
    case SSL_ERROR_WANT_WRITE: {
      const auto [error] = co_await socket_.async_wait(asio::socket_base::wait_write, kAwait);
      co_return error;
    }
    case SSL_ERROR_ZERO_RETURN:
      co_return asio::error::eof;
    case SSL_ERROR_SYSCALL:
      co_return error_code(saved_errno == 0 ? ECONNRESET : saved_errno,
                           boost::system::system_category());
    default:
      break;
  }
  const unsigned long reason = ERR_peek_last_error();
  found_plain_http_ =
      ERR_GET_LIB(reason) == ERR_LIB_SSL && ERR_GET_REASON(reason) == SSL_R_HTTP_REQUEST;
  co_return asio::error::connection_aborted;
}

asio::awaitable<error_code> TlsStream::Handshake() {
  error_code error;
  while (!error) {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result == 1) break;
    error = co_await WaitAfter(result);
  }
  co_return error;
}

asio::awaitable<TlsStream::Transferred> TlsStream::ReadSome(asio::mutable_buffer space) {
  Transferred transferred;
  while (!transferred.error) {
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_.get(), space.data(), space.size(), &transferred.byte_count);
    if (result == 1) break;
    transferred.error = co_await WaitAfter(result);
  }
  co_return transferred;
}

asio::awaitable<TlsStream::Transferred> TlsStream::WriteSome(std::string_view data) {
  Transferred transferred;
  while (!transferred.error) {
    ERR_clear_error();
    const int result = SSL_write_ex(ssl_.get(), data.data(), data.size(), &transferred.byte_count);
    if (result == 1) break;
    transferred.error = co_await WaitAfter(result);
  }
  co_return transferred;
}

TlsStream::Transferred TlsStream::TryRead(asio::mutable_buffer space) {
  ERR_clear_error();
  Transferred transferred;
  const int result = SSL_read_ex(ssl_.get(), space.data(), space.size(), &transferred.byte_count);
  if (result == 1) return transferred;
  const int reason = SSL_get_error(ssl_.get(), result);
  const bool is_later = reason == SSL_ERROR_WANT_WRITE || reason == SSL_ERROR_WANT_READ;
  transferred.error = is_later ? error_code(asio::error::would_block) : asio::error::eof;
  return transferred;
}

TlsStream::TryResult TlsStream::TryWrite(std::string_view data) {
  ERR_clear_error();
  size_t written = 0;
  const int result = SSL_write_ex(ssl_.get(), data.data(), data.size(), &written);
  if (result == 1) return TryResult::kWritten;
  const int reason = SSL_get_error(ssl_.get(), result);
  const bool is_later = reason == SSL_ERROR_WANT_WRITE || reason == SSL_ERROR_WANT_READ;
  return is_later ? TryResult::kNotNow : TryResult::kBroken;
}

bool TlsStream::has_pending() const { return SSL_pending(ssl_.get()) > 0; }

void TlsStream::SendClose() {
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

}  // namespace weft
