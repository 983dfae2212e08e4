#include "loadtest/run/connection_pool.h"

#include <limits>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace weft {

namespace asio = boost::asio;

ConnectionPool::ConnectionPool(asio::io_context& context, const Target& target,
                               int32_t max_connections)
    : context_(context),
      target_(target),
      poller_(context),
      max_connections_(max_connections > 0 ? static_cast<size_t>(max_connections)
                                           : std::numeric_limits<size_t>::max()) {}

bool ConnectionPool::WouldWait() const { return in_use_.size() >= max_connections_; }

asio::awaitable<std::unique_ptr<ClientConnection>> ConnectionPool::Acquire() {
  std::unique_ptr<ClientConnection> connection;
  if (WouldWait()) {
    Waiter waiter{.turn = asio::steady_timer(context_, asio::steady_timer::time_point::max()),
                  .connection = nullptr};
    waiters_.push_back(&waiter);
    co_await waiter.turn.async_wait(asio::as_tuple(asio::use_awaitable));
    connection = std::move(waiter.connection);
  } else if (idle_.empty()) {
    connection = std::make_unique<ClientConnection>(context_, target_, &poller_);
    Lend(*connection);
  } else {
    connection = std::move(idle_.back());
    idle_.pop_back();
    Lend(*connection);
  }
  co_return connection;
}

void ConnectionPool::Lend(ClientConnection& connection) {
  connection.pool_index = in_use_.size();
  in_use_.push_back(&connection);
}

void ConnectionPool::Release(std::unique_ptr<ClientConnection> connection) {
  if (!waiters_.empty()) {  // stays in use, open or not
    Waiter& next = *waiters_.front();
    waiters_.pop_front();
    next.connection = std::move(connection);
    next.turn.cancel();
    return;
  }
  in_use_[connection->pool_index] = in_use_.back();
  in_use_[connection->pool_index]->pool_index = connection->pool_index;
  in_use_.pop_back();
  if (connection->is_open()) idle_.push_back(std::move(connection));
}

void ConnectionPool::ExpireLate(std::chrono::steady_clock::time_point now) {
  for (ClientConnection* connection : in_use_) connection->Expire(now);
}

}  // namespace weft
