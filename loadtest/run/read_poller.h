// Reads many streams at once, more cheaply than Asio can.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <sys/epoll.h>

namespace weft {

// What is read of a stream goes here, whoever reads it.
class ReadSink {
 public:
  virtual ~ReadSink() = default;
  // Bytes, which stay until it returns; or an error, the end of the stream among them. False: no
  // more is wanted.
  virtual bool OnRead(const boost::system::error_code& error, std::string_view bytes) = 0;

 private:
  friend class ReadPoller;
  int socket_ = -1;
  boost::asio::steady_timer* end_ = nullptr;
};

// A token of a stream is a read of some hundred bytes. Asio's sockets take two system calls for it,
// the second to learn that there is no more, and memory of each socket's own that is in no cache
// any more when its turn comes. Here it is one call, into a buffer that all share, and the sinks of
// all that have come are fetched into the cache at once.
//
// On the context's thread; asks the context for its turns like a socket, and only while it has
// something to wait for.
class ReadPoller {
 public:
  // Of a sink, from its beginning: what it touches at a read should lie there.
  static constexpr size_t kFetchedBytes = 384;

  explicit ReadPoller(boost::asio::io_context& context);

  // Reads from a socket that the context does not know, until the sink wants no more. False: there
  // was no memory or descriptor to do so.
  boost::asio::awaitable<bool> ReadWhile(int socket, ReadSink& sink);

 private:
  static constexpr size_t kMostEvents = 64;  // what else the context does waits so long,
  static constexpr int kMostReads = 4;       // and other streams for one, of which there is more
  static constexpr size_t kScratchBytes = 64 << 10;

  void Wait();
  void Dispatch();
  void Read(const epoll_event& event);
  bool Watch(int operation, ReadSink& sink);
  void End(ReadSink& sink);

  boost::asio::posix::stream_descriptor epoll_;
  int64_t sink_count_ = 0;
  bool waits_ = false;
  std::array<epoll_event, kMostEvents> events_{};
  std::array<char, kScratchBytes> scratch_{};
};

}  // namespace weft
