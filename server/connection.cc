#include "server/connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <tuple>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/read_size.hpp>
#include <boost/beast/http/error.hpp>
#include <fmt/core.h>
#include <sys/socket.h>

#include "server/http_message.h"

namespace weft {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr size_t kReadChunkBytes = 65536;
constexpr size_t kHeadChunkBytes = 4096;

std::string RemoteOf(const StreamSocket& socket) {
  error_code error;
  const StreamSocket::endpoint_type generic = socket.remote_endpoint(error);
  if (error) return "-";
  if (generic.protocol().family() == AF_UNIX) return "unix";
  tcp::endpoint endpoint;
  if (generic.size() > endpoint.capacity()) return "-";
  std::memcpy(endpoint.data(), generic.data(), generic.size());
  const asio::ip::address address = endpoint.address();
  return address.is_v6() ? fmt::format("[{}]:{}", address.to_string(), endpoint.port())
                         : fmt::format("{}:{}", address.to_string(), endpoint.port());
}

TlsStream::TryResult TryWriteTo(int socket, char byte) {
  if (send(socket, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1) {
    return TlsStream::TryResult::kWritten;
  }
  const bool is_later = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  return is_later ? TlsStream::TryResult::kNotNow : TlsStream::TryResult::kBroken;
}

}  // namespace

Connection::Connection(StreamSocket socket, const ServerOptions& options,
                       std::shared_ptr<const TlsContext> tls)
    : socket_(std::move(socket)),
      options_(options),
      tls_context_(std::move(tls)),
      remote_(RemoteOf(socket_)),
      buffer_(options.max_header_bytes + kReadChunkBytes),
      timeout_timer_(socket_.get_executor()),
      watch_timer_(socket_.get_executor()) {
  error_code ignored;  // a client that has gone already shows at the first read
  socket_.non_blocking(true, ignored);
  socket_.set_option(tcp::no_delay(true), ignored);  // Unix sockets have none
  socket_.set_option(asio::socket_base::send_buffer_size(options.send_buffer_bytes), ignored);
}

asio::awaitable<HandshakeStatus> Connection::Handshake() {
  tls_ = std::make_unique<TlsStream>(std::exchange(tls_context_, nullptr), socket_);
  ArmTimeout(options_.header_timeout, OnTimeout::kClose);
  const error_code error = co_await tls_->Handshake();
  DisarmTimeout();
  if (!error && !timed_out_) co_return HandshakeStatus::kDone;
  const bool found_plain_http = tls_->found_plain_http();
  tls_.reset();
  co_return found_plain_http ? HandshakeStatus::kPlainHttp : HandshakeStatus::kFailed;
}

asio::awaitable<bool> Connection::WaitForRequest() {
  if (buffer_.size() > 0 || (tls_ && tls_->has_pending())) {
    // Reading and writing need not wait: whoever pipelines lets others have their turn.
    co_await asio::post(socket_.get_executor(), asio::use_awaitable);
    co_return true;
  }
  buffer_.shrink_to_fit();  // thousands of idle connections hold no buffer
  ArmTimeout(options_.idle_timeout, OnTimeout::kClose);
  const auto [error] = co_await socket_.async_wait(asio::socket_base::wait_read, kAwait);
  DisarmTimeout();
  co_return !error && !timed_out_;
}

asio::awaitable<ReadStatus> Connection::ReadHead(RequestParser& parser) {
  error_code error = ParseWhatIsThere(parser);
  if (!error && !parser.is_header_done()) {
    ArmTimeout(options_.header_timeout, OnTimeout::kStopReading);
    while (!error && !parser.is_header_done()) error = co_await Parse(parser);
    DisarmTimeout();
  }
  co_return StatusOf(error, parser.got_some() || buffer_.size() > 0);
}

// Mostly a request comes in one piece, which takes neither a timer nor a large buffer.
error_code Connection::ParseWhatIsThere(RequestParser& parser) {
  error_code error;
  if (buffer_.size() == 0 && !tls_) {
    buffer_.commit(socket_.read_some(buffer_.prepare(kHeadChunkBytes), error));
    if (error) return {};  // nothing yet, or what Parse will find, too
  }
  if (buffer_.size() == 0) return {};
  buffer_.consume(parser.put(buffer_.data(), error));
  return error == http::error::need_more ? error_code() : error;
}

asio::awaitable<ReadStatus> Connection::ReadBody(RequestParser& parser, ByteBudget::Hold& held) {
  ArmTimeout(options_.body_timeout, OnTimeout::kStopReading);
  parser.eager(true);
  ReadStatus status = ReadStatus::kOk;
  while (status == ReadStatus::kOk && !parser.is_done()) {
    const error_code error = co_await Parse(parser);
    status = StatusOf(error, true);
    if (!held.GrowTo(parser.get().body().size())) status = ReadStatus::kBudgetSpent;
  }
  DisarmTimeout();
  co_return status;
}

asio::awaitable<bool> Connection::SkipBody(RequestParser& parser) {
  parser.eager(true);
  error_code error;
  if (buffer_.size() > 0) buffer_.consume(parser.put(buffer_.data(), error));
  if (parser.is_done()) co_return true;  // it came with the head
  if (error == http::error::need_more) error = {};
  ArmTimeout(options_.body_timeout, OnTimeout::kStopReading);
  while (!error && !parser.is_done()) {
    error = co_await Parse(parser);
    parser.get().body().clear();
  }
  DisarmTimeout();
  co_return parser.is_done();
}

asio::awaitable<error_code> Connection::Parse(RequestParser& parser) {
  while (true) {
    if (buffer_.size() > 0) {
      error_code error;
      buffer_.consume(parser.put(buffer_.data(), error));
      if (error != http::error::need_more) co_return error;
    }
    error_code error = co_await Fill();
    if (error == asio::error::eof) {
      error = http::error::end_of_stream;
      if (parser.got_some() || buffer_.size() > 0) parser.put_eof(error);
      co_return error;
    }
    if (error) co_return error;
  }
}

asio::awaitable<error_code> Connection::Fill() {
  const size_t size = boost::beast::read_size(buffer_, kReadChunkBytes);
  if (size == 0) co_return http::error::buffer_overflow;
  const asio::mutable_buffer space = buffer_.prepare(size);
  TlsStream::Transferred read;
  if (tls_) {
    read = co_await tls_->ReadSome(space);
  } else {
    std::tie(read.error, read.byte_count) = co_await socket_.async_read_some(space, kAwait);
  }
  buffer_.commit(read.byte_count);
  co_return read.error;
}

ReadStatus Connection::StatusOf(const error_code& error, bool begun) {
  if (timed_out_) return begun ? ReadStatus::kTimedOut : ReadStatus::kClosed;
  if (!error) return ReadStatus::kOk;
  if (error == http::error::end_of_stream) return ReadStatus::kClosed;
  if (error == http::error::partial_message) return ReadStatus::kTruncated;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return ReadStatus::kHeaderTooLarge;
  }
  if (error == http::error::body_limit) return ReadStatus::kBodyTooLarge;
  if (error.category() == make_error_code(http::error::bad_method).category()) {
    read_error_ = error.message();
    return ReadStatus::kMalformed;
  }
  return ReadStatus::kClosed;
}

asio::awaitable<bool> Connection::Write(std::string_view data) {
  while (!data.empty()) {
    if (!tls_) {  // mostly the kernel takes it at once
      error_code error;
      data.remove_prefix(socket_.write_some(asio::buffer(data.data(), data.size()), error));
      if (!error) continue;
      if (error != asio::error::would_block) co_return false;
    }
    ArmTimeout(options_.write_timeout, OnTimeout::kClose);
    TlsStream::Transferred written;
    if (tls_) {
      written = co_await tls_->WriteSome(data);
    } else {
      std::tie(written.error, written.byte_count) =
          co_await socket_.async_write_some(asio::buffer(data.data(), data.size()), kAwait);
    }
    DisarmTimeout();
    if (written.error) co_return false;
    data.remove_prefix(written.byte_count);
  }
  co_return true;
}

asio::awaitable<bool> Connection::WriteHead(std::string head) {
  head_written_ = true;
  head.erase(0, std::exchange(probe_bytes_sent_, 0));
  const bool written = co_await Write(head);
  co_return written;
}

void Connection::ArmTimeout(std::chrono::milliseconds duration, OnTimeout action) {
  const uint64_t generation = ++timeout_generation_;
  timed_out_ = false;
  timeout_timer_.expires_after(duration);
  timeout_timer_.async_wait([self = shared_from_this(), generation, action](error_code error) {
    if (error || generation != self->timeout_generation_) return;
    self->timed_out_ = true;
    error_code ignored;
    // Either makes every read or write of the operation under way end, wherever it stands.
    if (action == OnTimeout::kStopReading) {
      self->socket_.shutdown(asio::socket_base::shutdown_receive, ignored);
    } else {
      self->socket_.close(ignored);
    }
  });
}

void Connection::DisarmTimeout() {
  ++timeout_generation_;
  timeout_timer_.cancel();
}

void Connection::Watch(std::function<void()> on_gone) {
  on_gone_ = std::move(on_gone);
  head_written_ = false;
  probe_interval_ = std::chrono::milliseconds(0);
  const uint64_t generation = ++watch_generation_;
  WaitForChange(asio::socket_base::wait_error, generation);
  WaitForChange(asio::socket_base::wait_read, generation);
}

void Connection::Unwatch() {
  ++watch_generation_;
  on_gone_ = nullptr;
  watch_timer_.cancel();
  error_code ignored;
  socket_.cancel(ignored);
}

void Connection::WaitForChange(asio::socket_base::wait_type type, uint64_t generation) {
  socket_.async_wait(type, [self = shared_from_this(), generation](error_code error) {
    if (!error && generation == self->watch_generation_) self->LookAtPeer();
  });
}

void Connection::LookAgainIn(std::chrono::milliseconds delay, uint64_t generation) {
  watch_timer_.expires_after(delay);
  watch_timer_.async_wait([self = shared_from_this(), generation](error_code error) {
    if (!error && generation == self->watch_generation_) self->LookAtPeer();
  });
}

// Called when the socket became readable, which bytes of a pipelined request make it for good, or
// broke; from then on a timer has to ask.
void Connection::LookAtPeer() {
  constexpr std::chrono::milliseconds kFirstInterval{25};
  constexpr std::chrono::milliseconds kPipelinedInterval{100};
  pollfd state{socket_.native_handle(), POLLRDHUP, 0};
  if (poll(&state, 1, 0) < 0) state.revents = POLLERR;
  if ((state.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) return ReportGone();
  std::chrono::milliseconds next = kPipelinedInterval;
  if ((state.revents & POLLRDHUP) != 0) {
    SendProbe();
    if (!on_gone_) return;  // the probe found out
    probe_interval_ = std::max(kFirstInterval, probe_interval_ * 2);
    next = probe_interval_;
  }
  LookAgainIn(next, watch_generation_);
}

void Connection::SendProbe() {
  if (head_written_ || probe_bytes_sent_ == kHeadPrefix.size()) return;
  using TryResult = TlsStream::TryResult;
  const char byte = kHeadPrefix[probe_bytes_sent_];
  const TryResult result = tls_ ? tls_->TryWrite(byte) : TryWriteTo(socket_.native_handle(), byte);
  if (result == TryResult::kWritten) ++probe_bytes_sent_;
  if (result == TryResult::kBroken) ReportGone();
}

void Connection::ReportGone() {
  ++watch_generation_;
  if (const auto on_gone = std::exchange(on_gone_, nullptr)) on_gone();
}

void Connection::Abort() {
  error_code ignored;
  socket_.close(ignored);
}

asio::awaitable<void> Connection::CloseGently() {
  constexpr std::chrono::milliseconds kLinger{1000};
  constexpr size_t kMaxDiscardedBytes = 16 << 20;
  if (tls_) tls_->SendClose();
  error_code error;
  socket_.shutdown(asio::socket_base::shutdown_send, error);
  if (!error) {
    ArmTimeout(kLinger, OnTimeout::kClose);
    std::array<char, 4096> discarded;  // in the coroutine's frame; TLS or not, nobody looks at it
    for (size_t total = 0; total < kMaxDiscardedBytes;) {
      const auto [read_error, bytes] =
          co_await socket_.async_read_some(asio::buffer(discarded), kAwait);
      if (read_error) break;
      total += bytes;
    }
    DisarmTimeout();
  }
  socket_.close(error);
}

}  // namespace weft
