#include "loadtest/run/read_poller.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <span>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <sys/socket.h>
#include <sys/types.h>

namespace weft {
namespace {

namespace asio = boost::asio;

void Fetch(const ReadSink& sink) {
  constexpr size_t kLineBytes = 64;
  const auto* begin = reinterpret_cast<const char*>(&sink);
  for (size_t i = 0; i < ReadPoller::kFetchedBytes; i += kLineBytes) __builtin_prefetch(begin + i);
  __builtin_prefetch(begin + ReadPoller::kFetchedBytes - 1);  // a sink need not begin with a line
}

}  // namespace

ReadPoller::ReadPoller(asio::io_context& context) : epoll_(context) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll >= 0) epoll_.assign(epoll);
}

asio::awaitable<bool> ReadPoller::ReadWhile(int socket, ReadSink& sink) {
  if (!epoll_.is_open()) co_return false;
  asio::steady_timer end(epoll_.get_executor(), asio::steady_timer::time_point::max());
  sink.socket_ = socket;
  sink.end_ = &end;
  if (!Watch(EPOLL_CTL_ADD, sink)) co_return false;
  ++sink_count_;
  if (!waits_) Wait();
  co_await end.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return true;
}

// By edges: otherwise the kernel would ask every socket again whether there is still something.
// An edge that is there when this is called is told of.
bool ReadPoller::Watch(int operation, ReadSink& sink) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &sink;
  return epoll_ctl(epoll_.native_handle(), operation, sink.socket_, &event) == 0;
}

void ReadPoller::Wait() {
  waits_ = true;
  epoll_.async_wait(asio::posix::stream_descriptor::wait_read,
                    [this](const boost::system::error_code&) {
                      waits_ = false;
                      Dispatch();
                      if (sink_count_ > 0) Wait();
                    });
}

// Asks again as long as there was something, since the way back through Asio takes three system
// calls. A sink that ends is not among the events that are left: each socket is there once.
void ReadPoller::Dispatch() {
  size_t dispatched = 0;
  while (dispatched < kMostEvents) {
    const int count = epoll_wait(epoll_.native_handle(), events_.data(),
                                 static_cast<int>(kMostEvents - dispatched), /*timeout=*/0);
    if (count <= 0) return;
    const std::span events(events_.data(), static_cast<size_t>(count));
    for (const epoll_event& event : events) Fetch(*static_cast<const ReadSink*>(event.data.ptr));
    for (const epoll_event& event : events) Read(event);
    dispatched += events.size();
  }
}

void ReadPoller::Read(const epoll_event& event) {
  ReadSink& sink = *static_cast<ReadSink*>(event.data.ptr);
  // That came with bytes, and will not be told of again.
  const bool has_ended = (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  for (int reads = 0; reads < kMostReads; ++reads) {
    const ssize_t count = recv(sink.socket_, scratch_.data(), scratch_.size(), MSG_DONTWAIT);
    boost::system::error_code error;
    if (count == 0) error = asio::error::eof;
    if (count < 0) {
      if (errno == EAGAIN) return;
      error.assign(errno, asio::error::get_system_category());
    }
    const std::string_view bytes(scratch_.data(), static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (!sink.OnRead(error, bytes)) return End(sink);
    if (count < std::ssize(scratch_) && !has_ended) return;  // there was no more
  }
  Watch(EPOLL_CTL_MOD, sink);
}

void ReadPoller::End(ReadSink& sink) {
  epoll_event ignored{};
  epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, sink.socket_, &ignored);
  sink.end_->cancel();
  --sink_count_;
}

}  // namespace weft
