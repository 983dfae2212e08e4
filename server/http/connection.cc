#include "server/http/connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <poll.h>
#include <tuple>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/error.hpp>
#include <fmt/core.h>
#include <sys/socket.h>

#include "server/http/await.h"
#include "server/http/http_message.h"
#include "server/http/request_framing.h"

namespace weft {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kHeadChunkBytes = 2048;
constexpr size_t kBodyChunkBytes = 16384;
constexpr uint64_t kShortHeadBytes = 2048;
// What a connection takes with its first chunk and a short head, and OpenSSL beside it: measured
// without, 3.1 and 14 KiB.
constexpr uint64_t kConnectionBytes = (4 << 10) + kHeadChunkBytes + kShortHeadBytes;
constexpr uint64_t kTlsBytes = 18 << 10;

// What a buffer of this size takes besides.
uint64_t BufferBytes(size_t capacity) { return capacity <= kHeadChunkBytes ? 0 : capacity; }

// What a head of so many bytes and lines takes besides: the parser's fields, each a node of a list
// and of a set, and what a request keeps of them, its target twice.
uint64_t HeadBytes(size_t bytes, size_t lines) {
  constexpr uint64_t kCopies = 3;
  constexpr uint64_t kFieldBytes = 80;
  const uint64_t taken = kCopies * bytes + kFieldBytes * lines;
  return taken - std::min(taken, kShortHeadBytes);
}

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

TlsStream::TryResult TryWriteTo(int socket, std::string_view data) {
  if (send(socket, data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    return TlsStream::TryResult::kWritten;
  }
  const bool is_later = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  return is_later ? TlsStream::TryResult::kNotNow : TlsStream::TryResult::kBroken;
}

}  // namespace

Connection::Connection(StreamSocket socket, const ServerOptions& options,
                       std::shared_ptr<const TlsContext> tls, RequestBudget& budget)
    : socket_(std::move(socket)),
      options_(options),
      tls_context_(std::move(tls)),
      remote_(RemoteOf(socket_)),
      hold_(budget.connections()),
      buffer_hold_(budget.buffers()),
      head_hold_(budget.buffers()),
      buffer_(options.max_header_bytes + kBodyChunkBytes),
      timeout_timer_(socket_.get_executor()),
      watch_timer_(socket_.get_executor()) {
  error_code ignored;  // a client that has gone already shows at the first read
  socket_.non_blocking(true, ignored);
  socket_.set_option(tcp::no_delay(true), ignored);  // Unix sockets have none
  socket_.set_option(asio::socket_base::send_buffer_size(options.send_buffer_bytes), ignored);
}

uint64_t Connection::LeastBytes(bool uses_tls) {
  return kConnectionBytes + (uses_tls ? kTlsBytes : 0);
}

bool Connection::HoldMemory() { return hold_.Resize(LeastBytes(needs_handshake())); }

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
  head_hold_.Give(head_hold_.bytes());
  if (buffer_.size() > 0 || (tls_ && tls_->has_pending())) {
    // Reading and writing need not wait: whoever pipelines lets others have their turn.
    co_await asio::post(socket_.get_executor(), asio::use_awaitable);
    co_return true;
  }
  ShrinkBuffer();
  ArmTimeout(options_.idle_timeout, OnTimeout::kClose);
  const auto [error] = co_await socket_.async_wait(asio::socket_base::wait_read, kAwait);
  DisarmTimeout();
  co_return !error && !timed_out_;
}

asio::awaitable<ReadStatus> Connection::ReadHead(RequestParser& parser) {
  head_written_ = false;
  head_bytes_ = head_lines_ = 0;
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
  error = Put(parser);
  return error == http::error::need_more ? error_code() : error;
}

error_code Connection::Put(RequestParser& parser) {
  error_code error;
  const auto* const bytes = static_cast<const char*>(buffer_.data().data());
  const bool is_head = !parser.is_header_done();
  const size_t count = parser.put(buffer_.data(), error);
  if (is_head && (!error || error == http::error::need_more)) {
    const error_code refusal = CountHead({bytes, count}, parser.is_header_done());
    if (refusal) error = refusal;
  }
  buffer_.consume(count);
  return error;
}

// Beast's own limit is for what it takes at a time, and it takes fields as they come.
error_code Connection::CountHead(std::string_view taken, bool is_whole) {
  constexpr size_t kOtherLines = 2;  // the request line and the empty one
  // Beast takes whole fields, and would make one line of several.
  if (HasFoldedLine(taken)) return http::error::bad_line_ending;
  head_bytes_ += taken.size();
  head_lines_ += static_cast<size_t>(std::ranges::count(taken, '\n'));
  const size_t begun_bytes = is_whole ? 0 : buffer_.size() - taken.size();  // of a field
  if (head_bytes_ + begun_bytes > options_.max_header_bytes ||
      head_lines_ > ServerOptions::kMaxHeaderFields + kOtherLines) {
    return http::error::header_limit;
  }
  if (!head_hold_.Resize(HeadBytes(head_bytes_, head_lines_))) return asio::error::no_memory;
  return {};
}

asio::awaitable<ReadStatus> Connection::ReadBody(RequestParser& parser, ByteBudget::Hold& held) {
  return ReadBodyPart(parser, held, std::numeric_limits<size_t>::max());
}

asio::awaitable<ReadStatus> Connection::ReadBodyPart(RequestParser& parser, ByteBudget::Hold& held,
                                                     size_t part_bytes) {
  HeldBody::value_type& body = parser.get().body();
  body.hold = &held;
  reads_body_ = true;
  parser.eager(true);
  const auto end = std::chrono::steady_clock::now() + options_.body_timeout;
  uint64_t awaited_bytes = options_.small_body_bytes;  // as many may take until the end
  ArmTimeout(options_.body_timeout, OnTimeout::kStopReading);
  ReadStatus status = ReadStatus::kOk;
  while (status == ReadStatus::kOk && !parser.is_done() && body.text.size() < part_bytes) {
    const error_code error = co_await Parse(parser);
    status = StatusOf(error, true);
    if (status == ReadStatus::kOk && body.is_refused) status = ReadStatus::kBudgetSpent;
    if (status != ReadStatus::kOk || body.received_bytes < awaited_bytes) continue;
    awaited_bytes = body.received_bytes + options_.min_body_bytes;
    const auto left_time =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    ArmTimeout(std::clamp(left_time, std::chrono::milliseconds(0), options_.body_window),
               OnTimeout::kStopReading);
  }
  DisarmTimeout();
  reads_body_ = gives_up_body_ = false;
  ShrinkBuffer();
  parser.get().clear();  // of fields; a chunked body's trailer may have brought any number of them
  co_return status;
}

asio::awaitable<bool> Connection::SkipBody(RequestParser& parser) {
  parser.eager(true);
  parser.get().body().Refuse();
  error_code error;
  if (buffer_.size() > 0) error = Put(parser);
  if (parser.is_done()) co_return true;  // it came with the head
  if (error == http::error::need_more) error = {};
  ArmTimeout(options_.body_timeout, OnTimeout::kStopReading);
  while (!error && !parser.is_done()) error = co_await Parse(parser);
  DisarmTimeout();
  co_return parser.is_done();
}

bool Connection::FillNow() {
  const size_t size = std::min(kHeadChunkBytes, buffer_.max_size() - buffer_.size());
  if (size == 0 || !MakeRoom(size)) return true;  // later
  TlsStream::Transferred read;
  if (tls_) {
    read = tls_->TryRead(buffer_.prepare(size));
  } else {
    read.byte_count = socket_.read_some(buffer_.prepare(size), read.error);
  }
  buffer_.commit(read.byte_count);
  return !read.error || read.error == asio::error::would_block;
}

asio::awaitable<ReadStatus> Connection::ReadMore(std::chrono::milliseconds patience) {
  if (buffer_.size() == 0) ShrinkBuffer();
  ArmTimeout(patience, OnTimeout::kStopReading);
  const error_code error = co_await Fill(kHeadChunkBytes);
  DisarmTimeout();
  if (timed_out_) co_return ReadStatus::kTimedOut;
  co_return error ? ReadStatus::kClosed : ReadStatus::kOk;
}

void Connection::GiveUpBody() {
  if (!reads_body_) return;
  gives_up_body_ = true;
  error_code ignored;
  socket_.cancel(ignored);
}

asio::awaitable<error_code> Connection::Parse(RequestParser& parser) {
  while (true) {
    if (buffer_.size() > 0) {
      const error_code error = Put(parser);
      if (error != http::error::need_more) co_return error;
    }
    error_code error = co_await Fill(parser.is_header_done() ? kBodyChunkBytes : kHeadChunkBytes);
    if (error == asio::error::eof) {
      error = http::error::end_of_stream;
      if (parser.got_some() || buffer_.size() > 0) parser.put_eof(error);
      co_return error;
    }
    if (error) co_return error;
  }
}

bool Connection::MakeRoom(size_t more_bytes) {
  const size_t held = buffer_.capacity();
  const size_t wanted = buffer_.size() + more_bytes;
  if (wanted <= held) return true;
  // The buffer doubles, and is there twice while its bytes move.
  const size_t larger = std::min(std::max(2 * buffer_.size(), wanted), buffer_.max_size());
  if (!buffer_hold_.Take(BufferBytes(larger))) return false;
  buffer_.reserve(larger);
  buffer_hold_.Give(BufferBytes(held));
  return true;
}

void Connection::ShrinkBuffer() {
  const size_t held = buffer_.capacity();
  buffer_.shrink_to_fit();
  buffer_hold_.Give(BufferBytes(held) - BufferBytes(buffer_.capacity()));
}

asio::awaitable<error_code> Connection::Fill(size_t max_bytes) {
  if (gives_up_body_) co_return asio::error::operation_aborted;
  size_t size = std::min(max_bytes, buffer_.max_size() - buffer_.size());
  if (size == 0) co_return http::error::buffer_overflow;
  if (!MakeRoom(size)) {  // what there is serves too, or what a connection has anyway
    const size_t least = std::min(size, kHeadChunkBytes);
    size = MakeRoom(least) ? least : buffer_.capacity() - buffer_.size();
  }
  if (size == 0) co_return asio::error::no_memory;
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
  if (gives_up_body_) return ReadStatus::kShuttingDown;
  if (error == http::error::end_of_stream) return ReadStatus::kClosed;
  if (error == http::error::partial_message) return ReadStatus::kTruncated;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return ReadStatus::kHeaderTooLarge;
  }
  if (error == http::error::body_limit) return ReadStatus::kBodyTooLarge;
  if (error == asio::error::no_memory) return ReadStatus::kBudgetSpent;
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

void Connection::TryAnswer(std::string_view response) {
  if (std::exchange(head_written_, true)) return;
  response.remove_prefix(std::exchange(probe_bytes_sent_, 0));
  if (tls_) {
    tls_->TryWrite(response);
  } else {
    TryWriteTo(socket_.native_handle(), response);
  }
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

void Connection::Watch(std::function<void()> on_gone, std::function<void()> on_readable) {
  on_gone_ = std::move(on_gone);
  on_readable_ = std::move(on_readable);
  head_written_ = false;
  probe_interval_ = std::chrono::milliseconds(0);
  const uint64_t generation = ++watch_generation_;
  WaitForChange(asio::socket_base::wait_error, generation);
  WaitForChange(asio::socket_base::wait_read, generation);
}

void Connection::Unwatch() {
  ++watch_generation_;
  on_gone_ = nullptr;
  on_readable_ = nullptr;
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
    if (on_readable_) return ReportGone();
    SendProbe();
    if (!on_gone_) return;  // the probe found out
    probe_interval_ = std::max(kFirstInterval, probe_interval_ * 2);
    next = probe_interval_;
  }
  if (on_readable_) on_readable_();
  LookAgainIn(next, watch_generation_);
}

void Connection::SendProbe() {
  if (head_written_ || probe_bytes_sent_ == kHeadPrefix.size()) return;
  using TryResult = TlsStream::TryResult;
  const std::string_view byte = kHeadPrefix.substr(probe_bytes_sent_, 1);
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
