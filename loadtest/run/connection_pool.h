// The connections of a run: kept alive, and taken again by whoever comes next.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "loadtest/run/connection.h"

namespace weft {

// `context` and `target` outlive it. On the context's thread.
class ConnectionPool {
 public:
  // At most `max_connections` in use at a time; 0: no limit.
  ConnectionPool(boost::asio::io_context& context, const Target& target, int32_t max_connections);

  bool WouldWait() const;
  // The one that was used last, or a new one that is not open yet. At the limit, waits for its
  // turn.
  boost::asio::awaitable<std::unique_ptr<ClientConnection>> Acquire();
  // Every one that was acquired. Kept if it is open.
  void Release(std::unique_ptr<ClientConnection> connection);

  // Ends what those in use wait for, if their time is over.
  void ExpireLate(std::chrono::steady_clock::time_point now);

 private:
  struct Waiter {
    boost::asio::steady_timer turn;
    std::unique_ptr<ClientConnection> connection;
  };

  void Lend(ClientConnection& connection);

  boost::asio::io_context& context_;
  const Target& target_;
  ReadPoller poller_;
  size_t max_connections_;
  std::vector<std::unique_ptr<ClientConnection>> idle_;
  std::vector<ClientConnection*> in_use_;
  std::deque<Waiter*> waiters_;
};

}  // namespace weft
