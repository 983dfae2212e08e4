#include "loadtest/run/read_poller.h"

#include <algorithm>

namespace weft {

ReadPoller::ReadPoller(boost::asio::io_context& context) : epoll_(context) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll >= 0) epoll_.assign(epoll);
}

bool ReadPoller::Add(int socket, Watcher& watcher) {
  if (!epoll_.is_open()) return false;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &watcher;
  if (epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, socket, &event) != 0) return false;
  ++watcher_count_;
  if (!waits_) Wait();
  return true;
}

void ReadPoller::Remove(int socket, const Watcher& watcher) {
  epoll_event ignored{};
  epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, socket, &ignored);
  for (size_t i = next_event_; i < event_count_; ++i) {
    if (events_[i].data.ptr == &watcher) events_[i].data.ptr = nullptr;
  }
  // Nothing to wait for: nor may the context wait.
  if (--watcher_count_ == 0 && waits_) epoll_.cancel();
}

void ReadPoller::Wait() {
  waits_ = true;
  epoll_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [this](const boost::system::error_code&) {
                      waits_ = false;
                      Dispatch();
                      if (watcher_count_ > 0 && !waits_) Wait();
                    });
}

void ReadPoller::Dispatch() {
  const int count = epoll_wait(epoll_.native_handle(), events_.data(),
                               static_cast<int>(events_.size()), /*timeout=*/0);
  event_count_ = static_cast<size_t>(std::max(count, 0));
  for (next_event_ = 0; next_event_ < event_count_;) {
    auto* watcher = static_cast<Watcher*>(events_[next_event_++].data.ptr);
    if (watcher != nullptr) watcher->OnReadable(scratch_);
  }
  next_event_ = event_count_ = 0;
}

}  // namespace weft
