#include "loadtest/run/drive.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <unistd.h>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace weft {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTerminalInterval(200);
constexpr std::chrono::seconds kLogInterval(10);
constexpr std::chrono::seconds kGrace(1);  // for what is running when the run is interrupted

// The end of a coroutine: its exception, if any (memory ran out), ends the run.
constexpr auto kRethrow = [](const std::exception_ptr& exception) {
  if (exception) std::rethrow_exception(exception);
};

class Loop {
 public:
  Loop(asio::io_context& context, ConnectionPool& pool, Clock::duration timeout,
       const DriveHooks& hooks)
      : context_(context),
        pool_(pool),
        hooks_(hooks),
        expiry_interval_(std::clamp<Clock::duration>(timeout / 20, std::chrono::milliseconds(1),
                                                     std::chrono::milliseconds(250))),
        tick_(context),
        progress_(context),
        grace_(context),
        interrupt_(context, SIGINT) {}

  bool Run(asio::awaitable<void> main) {
    context_.restart();
    asio::co_spawn(context_, Tick(), kRethrow);
    if (hooks_.progress_line) asio::co_spawn(context_, ShowProgress(), kRethrow);
    interrupt_.async_wait([this](const boost::system::error_code& error, int) {
      if (!error) Interrupt();
    });
    asio::co_spawn(context_, std::move(main), [this](const std::exception_ptr& exception) {
      kRethrow(exception);
      End();
    });
    context_.run();
    if (hooks_.progress_line && is_terminal_) std::fprintf(stderr, "\r\x1b[K");
    return ended_;
  }

 private:
  void End() {
    ended_ = true;
    tick_.cancel();
    progress_.cancel();
    grace_.cancel();
    interrupt_.cancel();
  }

  void Interrupt() {
    hooks_.on_interrupt();
    grace_.expires_after(kGrace);
    grace_.async_wait([this](const boost::system::error_code& error) {
      if (!error) context_.stop();
    });
  }

  asio::awaitable<void> Tick() {
    const Clock::duration interval = std::min<Clock::duration>(kTick, expiry_interval_);
    Clock::time_point next_expiry = Clock::now() + expiry_interval_;
    while (!ended_) {
      tick_.expires_after(interval);
      co_await tick_.async_wait(asio::as_tuple(asio::use_awaitable));
      if (ended_) co_return;
      const Clock::time_point now = Clock::now();
      hooks_.on_tick(now - tick_.expiry(), interval);
      if (now < next_expiry) continue;
      pool_.ExpireLate(now);
      next_expiry = now + expiry_interval_;
    }
  }

  asio::awaitable<void> ShowProgress() {
    for (;;) {
      progress_.expires_after(is_terminal_ ? kTerminalInterval : Clock::duration(kLogInterval));
      co_await progress_.async_wait(asio::as_tuple(asio::use_awaitable));
      if (ended_) co_return;
      const std::string line = hooks_.progress_line();
      std::fprintf(stderr, is_terminal_ ? "\r%s\x1b[K" : "%s\n", line.c_str());
    }
  }

  asio::io_context& context_;
  ConnectionPool& pool_;
  const DriveHooks& hooks_;
  const Clock::duration expiry_interval_;
  const bool is_terminal_ = isatty(STDERR_FILENO) == 1;
  asio::steady_timer tick_;
  asio::steady_timer progress_;
  asio::steady_timer grace_;
  asio::signal_set interrupt_;
  bool ended_ = false;
};

}  // namespace

bool Drive(asio::io_context& context, ConnectionPool& pool, Clock::duration timeout,
           const DriveHooks& hooks, asio::awaitable<void> main) {
  return Loop(context, pool, timeout, hooks).Run(std::move(main));
}

}  // namespace weft
