#include "loadtest/run/runner.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <unistd.h>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "loadtest/plan/prompts.h"
#include "loadtest/run/completion_client.h"

namespace weft {
namespace {

namespace asio = boost::asio;

// The end of a coroutine: its exception, if any (memory ran out), ends the run.
constexpr auto kRethrow = [](const std::exception_ptr& exception) {
  if (exception) std::rethrow_exception(exception);
};

Result<Target> MakeTarget(asio::io_context& context, const LoadtestOptions& options) {
  Target target;
  WEFT_ASSIGN_OR_RETURN(target.url, ParseUrl(options.url));
  boost::system::error_code error;
  target.addresses =
      asio::ip::tcp::resolver(context).resolve(target.url.host, target.url.port, error);
  if (error) {
    return Fail(ErrorCode::kNotFound, "url '{}': cannot find '{}': {}", options.url,
                target.url.host, error.message());
  }
  target.api_key = options.api_key;
  target.timeout = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(options.timeout_s));
  return target;
}

// The state that the users of one run share; all on one thread.
class Crowd {
 public:
  Crowd(asio::io_context& context, const Target& target, const LoadtestOptions& options)
      : context_(context), target_(target), options_(options), progress_(context) {}

  LoadtestRun Run() {
    const auto begin = std::chrono::steady_clock::now();
    const int32_t user_count = std::min(options_.concurrency, options_.request_count);
    for (running_users_ = 0; running_users_ < user_count; ++running_users_) {
      asio::co_spawn(context_, User(), kRethrow);
    }
    if (isatty(STDERR_FILENO) == 1) asio::co_spawn(context_, ShowProgress(), kRethrow);
    asio::signal_set interrupt(context_, SIGINT);
    interrupt.async_wait([&](const boost::system::error_code& error, int) {
      run_.interrupted = !error;
      if (!error) context_.stop();
    });
    on_end_ = [&] { interrupt.cancel(); };
    context_.run();
    run_.wall = std::chrono::steady_clock::now() - begin;
    return std::move(run_);
  }

 private:
  asio::awaitable<void> User() {
    CompletionClient client(context_.get_executor(), target_);
    while (next_request_ < options_.request_count) {
      CompletionCall call = MakeCall(static_cast<uint64_t>(next_request_++));
      run_.results.push_back(co_await client.Complete(std::move(call)));
      if (!run_.results.back().ok()) ++failed_;
    }
    if (--running_users_ == 0) {
      progress_.cancel();
      on_end_();
    }
  }

  CompletionCall MakeCall(uint64_t request_index) const {
    CompletionCall call;
    call.model = options_.model;
    call.prompt = options_.prompt.empty()
                      ? GeneratePrompt(options_.seed, request_index, options_.prompt_tokens)
                      : options_.prompt;
    call.max_tokens = options_.max_tokens;
    call.temperature = options_.temperature;
    call.stream = options_.stream;
    call.ignore_eos = options_.ignore_eos;
    return call;
  }

  asio::awaitable<void> ShowProgress() {
    while (running_users_ > 0) {
      std::fprintf(stderr, "\r%zu of %d requests, %d failed", run_.results.size(),
                   options_.request_count, failed_);
      progress_.expires_after(std::chrono::milliseconds(200));
      co_await progress_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    std::fprintf(stderr, "\r\x1b[K");  // the report needs no leftovers
  }

  asio::io_context& context_;
  const Target& target_;
  const LoadtestOptions& options_;
  asio::steady_timer progress_;
  std::function<void()> on_end_;
  LoadtestRun run_;
  int32_t running_users_ = 0;
  int32_t next_request_ = 0;
  int32_t failed_ = 0;
};

Result<std::string> FirstModel(asio::io_context& context, const Target& target) {
  Result<std::string> model;
  CompletionClient client(context.get_executor(), target);
  asio::co_spawn(
      context, [&]() -> asio::awaitable<void> { model = co_await client.FirstModel(); }, kRethrow);
  context.run();
  context.restart();
  return model;
}

}  // namespace

Result<LoadtestRun> RunLoad(LoadtestOptions& options) {
  asio::io_context context(1);
  WEFT_ASSIGN_OR_RETURN(const Target target, MakeTarget(context, options));
  if (options.model.empty()) {
    WEFT_ASSIGN_OR_RETURN(options.model, FirstModel(context, target));
  }
  return Crowd(context, target, options).Run();
}

}  // namespace weft
