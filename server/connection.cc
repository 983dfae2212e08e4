#include "server/connection.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
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

std::string RemoteOf(const tcp::socket& socket) {
  error_code error;
  const tcp::endpoint endpoint = socket.remote_endpoint(error);
  if (error) return "-";
  const asio::ip::address address = endpoint.address();
  return address.is_v6() ? fmt::format("[{}]:{}", address.to_string(), endpoint.port())
                         : fmt::format("{}:{}", address.to_string(), endpoint.port());
}

}  // namespace

Connection::Connection(tcp::socket socket, const ServerOptions& options)
    : socket_(std::move(socket)),
      options_(options),
      remote_(RemoteOf(socket_)),
      buffer_(options.max_header_bytes + kReadChunkBytes),
      timeout_timer_(socket_.get_executor()),
      watch_timer_(socket_.get_executor()) {
  error_code ignored;  // a client that has gone already shows at the first read
  socket_.non_blocking(true, ignored);
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::send_buffer_size(options.send_buffer_bytes), ignored);
}

asio::awaitable<bool> Connection::WaitForRequest() {
  if (buffer_.size() > 0) co_return true;
  buffer_.shrink_to_fit();  // thousands of idle connections hold no buffer
  ArmTimeout(options_.idle_timeout, OnTimeout::kClose);
  const auto [error] = co_await socket_.async_wait(tcp::socket::wait_read, kAwait);
  DisarmTimeout();
  co_return !error && !timed_out_;
}

asio::awaitable<ReadStatus> Connection::ReadHead(RequestParser& parser) {
  ArmTimeout(options_.header_timeout, OnTimeout::kStopReading);
  const auto [error, bytes] = co_await http::async_read_header(socket_, buffer_, parser, kAwait);
  DisarmTimeout();
  co_return StatusOf(error, bytes > 0 || buffer_.size() > 0);
}

asio::awaitable<ReadStatus> Connection::ReadBody(RequestParser& parser, ByteBudget::Hold& held) {
  ArmTimeout(options_.body_timeout, OnTimeout::kStopReading);
  parser.eager(true);
  ReadStatus status = ReadStatus::kOk;
  while (status == ReadStatus::kOk && !parser.is_done()) {
    const auto [error, bytes] = co_await http::async_read_some(socket_, buffer_, parser, kAwait);
    status = StatusOf(error, true);
    if (!held.GrowTo(parser.get().body().size())) status = ReadStatus::kBudgetSpent;
  }
  DisarmTimeout();
  co_return status;
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
    ArmTimeout(options_.write_timeout, OnTimeout::kClose);
    const auto [error, bytes] =
        co_await socket_.async_write_some(asio::buffer(data.data(), data.size()), kAwait);
    DisarmTimeout();
    if (error) co_return false;
    data.remove_prefix(bytes);
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
      self->socket_.shutdown(tcp::socket::shutdown_receive, ignored);
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
  WaitForChange(tcp::socket::wait_error, generation);
  WaitForChange(tcp::socket::wait_read, generation);
}

void Connection::Unwatch() {
  ++watch_generation_;
  on_gone_ = nullptr;
  watch_timer_.cancel();
  error_code ignored;
  socket_.cancel(ignored);
}

void Connection::WaitForChange(tcp::socket::wait_type type, uint64_t generation) {
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
  const ssize_t sent = send(socket_.native_handle(), kHeadPrefix.data() + probe_bytes_sent_, 1,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent == 1) {
    ++probe_bytes_sent_;
  } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
    ReportGone();
  }
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
  error_code error;
  socket_.shutdown(tcp::socket::shutdown_send, error);
  if (!error) {
    ArmTimeout(kLinger, OnTimeout::kClose);
    std::array<char, 4096> discarded;  // in the coroutine's frame
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
