// Waits for many streams at once, more cheaply than Asio can.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <sys/epoll.h>

namespace weft {

// A token of a stream is a read of some hundred bytes. Asio's sockets take two system calls for it,
// the second to learn that there is no more, and memory of each socket's own that is in no cache
// any more when its turn comes. Here it is one call, into a buffer that all share. On the context's
// thread; asks the context for its turns like a socket, and only while it has something to wait
// for.
class ReadPoller {
 public:
  class Watcher {
   public:
    // There are bytes to read, or the end. `scratch` is free to be read into until it returns.
    virtual void OnReadable(std::span<char> scratch) = 0;

   protected:
    ~Watcher() = default;
  };

  explicit ReadPoller(boost::asio::io_context& context);

  // A socket that the context does not know. False: there is no memory or descriptor for it.
  bool Add(int socket, Watcher& watcher);
  // `watcher` is not called any more; it may call this itself.
  void Remove(int socket, const Watcher& watcher);

 private:
  static constexpr size_t kMostEvents = 64;  // what else the context does waits so long
  static constexpr size_t kScratchBytes = 64 << 10;

  void Wait();
  void Dispatch();

  boost::asio::posix::stream_descriptor epoll_;
  int64_t watcher_count_ = 0;
  bool waits_ = false;
  std::array<epoll_event, kMostEvents> events_{};
  size_t next_event_ = 0;  // of events_: not dispatched yet
  size_t event_count_ = 0;
  std::array<char, kScratchBytes> scratch_{};
};

}  // namespace weft
