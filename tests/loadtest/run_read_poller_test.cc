// What is read of sockets, with no protocol on them.
#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "loadtest/run/read_poller.h"

namespace weft {
namespace {

// Our end of a connection, and the peer's.
struct SocketPair {
  SocketPair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0); }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;
  ~SocketPair() {
    for (const int end : ends) close(end);
  }
  void Send(std::string_view bytes) const {
    EXPECT_EQ(send(ends[1], bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT),
              static_cast<ssize_t>(bytes.size()));
  }

  std::array<int, 2> ends{-1, -1};
};

class CollectingSink final : public ReadSink {
 public:
  bool OnRead(const boost::system::error_code& error, std::string_view bytes) override {
    received += bytes;
    end = error;
    if (on_read) on_read();
    return !error && received.size() < wanted_bytes;
  }

  std::string received;
  boost::system::error_code end;
  size_t wanted_bytes = 1 << 30;
  std::function<void()> on_read;
};

class ReadPollerTest : public testing::Test {
 protected:
  void Read(const SocketPair& sockets, CollectingSink& sink) {
    boost::asio::co_spawn(context_, poller_.ReadWhile(sockets.ends[0], sink),
                          [this](const std::exception_ptr& error, bool was_read) {
                            EXPECT_EQ(error, nullptr);
                            EXPECT_TRUE(was_read);
                            ++ended_;
                          });
  }

  // For ever only if it reads for ever.
  void RunContext() {
    context_.restart();
    context_.run_for(std::chrono::seconds(10));
  }

  boost::asio::io_context context_;
  ReadPoller poller_{context_};
  int ended_ = 0;
};

TEST_F(ReadPollerTest, ReadsUntilNoMoreIsWanted) {
  const SocketPair sockets;
  CollectingSink sink;
  sink.wanted_bytes = 6;
  sockets.Send("one");
  sink.on_read = [&] {
    if (sink.received.size() == 3) sockets.Send("two");
  };
  Read(sockets, sink);
  RunContext();
  EXPECT_EQ(sink.received, "onetwo");
  EXPECT_EQ(ended_, 1);
}

TEST_F(ReadPollerTest, TheEndMayComeWithTheLastBytes) {
  const SocketPair sockets;
  CollectingSink sink;
  sockets.Send("last");
  shutdown(sockets.ends[1], SHUT_WR);
  Read(sockets, sink);
  RunContext();
  EXPECT_EQ(sink.received, "last");
  EXPECT_EQ(sink.end, boost::asio::error::eof);
}

// As a request's that is given up while a token is on its way to it.
TEST_F(ReadPollerTest, OurOwnEndIsSeenBehindWhatWasNotRead) {
  const SocketPair sockets;
  CollectingSink sink;
  Read(sockets, sink);
  boost::asio::post(context_, [&] {
    sockets.Send("unread");
    shutdown(sockets.ends[0], SHUT_RDWR);
  });
  RunContext();
  EXPECT_EQ(sink.end, boost::asio::error::eof);
}

TEST_F(ReadPollerTest, ReadsAllThatCameAtOnce) {
  for (const size_t size_bytes : {150'000, 280'000}) {  // more than a read, than a turn
    const SocketPair sockets;
    const int buffer_bytes = 1 << 20;
    setsockopt(sockets.ends[1], SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(buffer_bytes));
    CollectingSink sink;
    const std::string bytes(size_bytes, 'x');
    sockets.Send(bytes);
    sink.wanted_bytes = bytes.size();
    Read(sockets, sink);
    RunContext();
    EXPECT_EQ(sink.received.size(), bytes.size());
  }
}

// Whose peer sends as fast as it is read.
TEST_F(ReadPollerTest, AnEndlessStreamLeavesOthersTheirTurns) {
  const SocketPair endless, other;
  const std::string bytes(64 << 10, 'x');
  CollectingSink endless_sink, other_sink;
  other_sink.wanted_bytes = 3;
  bool was_posted = false;
  endless_sink.on_read = [&] {
    if (ended_ == 1 && was_posted) {
      endless_sink.wanted_bytes = 0;
      return;
    }
    endless.Send(bytes);
    endless_sink.received.clear();
  };
  endless.Send(bytes);
  other.Send("one");
  Read(endless, endless_sink);
  Read(other, other_sink);
  boost::asio::post(context_, [&] { was_posted = true; });
  RunContext();
  EXPECT_EQ(other_sink.received, "one");
  EXPECT_EQ(ended_, 2);
}

TEST_F(ReadPollerTest, ReadsMoreStreamsThanEventsAtATime) {
  constexpr size_t kStreams = 200;
  std::array<SocketPair, kStreams> sockets;
  std::array<CollectingSink, kStreams> sinks;
  for (size_t i = 0; i < kStreams; ++i) {
    sinks[i].wanted_bytes = 2;
    sockets[i].Send("a");
    sinks[i].on_read = [&, i] {
      if (sinks[i].received.size() == 1) sockets[i].Send("b");
    };
    Read(sockets[i], sinks[i]);
  }
  RunContext();
  for (const CollectingSink& sink : sinks) EXPECT_EQ(sink.received, "ab");
  EXPECT_EQ(ended_, static_cast<int>(kStreams));
}

TEST_F(ReadPollerTest, ASocketThatCannotBeWatchedIsNotRead) {
  CollectingSink sink;
  bool was_read = true;
  boost::asio::co_spawn(context_, poller_.ReadWhile(/*socket=*/-1, sink),
                        [&](const std::exception_ptr&, bool result) { was_read = result; });
  RunContext();
  EXPECT_FALSE(was_read);
}

}  // namespace
}  // namespace weft
