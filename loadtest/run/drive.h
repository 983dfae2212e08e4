// Runs the event loop of a load test: what goes on besides the requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "loadtest/run/connection_pool.h"

namespace weft {

struct DriveHooks {
  // SIGINT has arrived: nothing new is to be sent. A second later the loop is stopped.
  std::function<void()> on_interrupt;
  // Every `interval`, which is kTick or less: how late this call is.
  std::function<void(std::chrono::steady_clock::duration lateness,
                     std::chrono::steady_clock::duration interval)>
      on_tick;
  // The progress line; not set: none.
  std::function<std::string()> progress_line;
};

inline constexpr std::chrono::milliseconds kTick(5);

// Runs `context` until `main` is over, or interrupted: then it returns false, with coroutines left
// in the context that must not run again. Connections whose time is over are expired. Progress goes
// to stderr: a line that is written over if that is a terminal, otherwise one every ten seconds.
bool Drive(boost::asio::io_context& context, ConnectionPool& pool,
           std::chrono::steady_clock::duration timeout, const DriveHooks& hooks,
           boost::asio::awaitable<void> main);

}  // namespace weft
