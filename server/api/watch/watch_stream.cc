#include "server/api/watch/watch_stream.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/log.h"
#include "proto/sse.h"
#include "proto/watch/watch_events.h"
#include "server/api/generation_handler.h"
#include "server/api/job_memory.h"
#include "server/http/active_request.h"
#include "server/http/await.h"

namespace weft {
namespace {

namespace asio = boost::asio;

constexpr int32_t kMaxWatchers = 64;
constexpr std::chrono::seconds kSecond{1};
// How soon a watcher hears of a second that has ended, and of the server's end.
constexpr std::chrono::milliseconds kLookInterval{200};

// What one client has been sent of the history.
class WatchFeed {
 public:
  // Both outlive it.
  WatchFeed(const WatchHistory& history, const HttpRequest& request)
      : history_(history), request_(request) {}

  std::string TakeHistory() {
    return request_.sees_all_keys ? HistoryOf(history_.Since(0))
                                  : HistoryOf(history_.SinceOfKey(request_.key_name, 0));
  }
  // Empty: no second has ended since.
  std::string TakeSamples() {
    return request_.sees_all_keys ? SamplesOf(history_.Since(next_))
                                  : SamplesOf(history_.SinceOfKey(request_.key_name, next_));
  }

 private:
  template <typename Sample>
  std::string HistoryOf(const WatchHistory::Part<Sample>& part) {
    next_ = part.next;
    return SseEvent(HistoryJson(part.samples, history_.facts()));
  }
  template <typename Sample>
  std::string SamplesOf(const WatchHistory::Part<Sample>& part) {
    next_ = part.next;
    std::string events;
    for (const Sample& sample : part.samples) events += SseEvent(ToJson(sample));
    return events;
  }

  const WatchHistory& history_;
  const HttpRequest& request_;
  uint64_t next_ = 0;
};

void EndSecond(ServerContext& context) {
  WatchTotals totals = context.metrics->TakeWatchTotals();
  totals.request_bytes = static_cast<int64_t>(context.request_budget.taken_bytes());
  totals.facts.request_limit_bytes = static_cast<int64_t>(context.options.request_memory_bytes);
  const std::chrono::duration<double> time = std::chrono::system_clock::now().time_since_epoch();
  context.watch.EndSecond(time.count(), totals);
}

ExchangeOutcome Ended() {
  ExchangeOutcome outcome;
  outcome.status = 200;  // that the client leaves is how it ends
  return outcome;
}

}  // namespace

asio::awaitable<void> KeepWatch(ServerContext& context) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  auto due = std::chrono::steady_clock::now();
  while (true) {
    try {
      EndSecond(context);
    } catch (const std::bad_alloc&) {
      Log(LogLevel::kWarning, "no memory for a second of /watch");
    }
    due = std::max(due + kSecond, std::chrono::steady_clock::now());
    timer.expires_at(due);
    co_await timer.async_wait(kAwait);
  }
}

asio::awaitable<ExchangeOutcome> StreamWatch(Connection& connection, const HttpRequest& request,
                                             ServerContext& context, ByteBudget::Hold& held) {
  const ActiveRequest watching(context.watchers);
  std::optional<ApiError> refusal;
  if (context.watchers > kMaxWatchers) refusal = Overloaded();
  WatchFeed feed(context.watch, request);
  std::string events = feed.TakeHistory();
  if (!refusal) refusal = HoldMore(held, kExchangeBytes + 2 * events.size());
  if (refusal || request.method == "HEAD") {
    HttpResponse response;
    if (refusal) response = ErrorResponse(*refusal, request);
    if (!refusal) response.content_type = "text/event-stream; charset=utf-8";
    co_return co_await SendResponse(connection, request, response, request.keep_alive);
  }
  const auto framed = [&request](std::string data) {
    return request.is_http_1_1 ? FormatChunk(data) : std::move(data);
  };
  HttpResponse response;
  response.content_type = "text/event-stream; charset=utf-8";
  response.headers.emplace_back("Cache-Control", "no-cache");
  std::string message = FormatHead(response, request, false, std::nullopt);
  message += framed(std::exchange(events, {}));
  bool is_there = co_await connection.WriteHead(std::exchange(message, {}));
  held.Give(held.bytes() - kExchangeBytes);
  asio::steady_timer timer(connection.executor());
  while (is_there && !context.draining) {
    timer.expires_after(kLookInterval);
    co_await timer.async_wait(kAwait);
    std::string samples = feed.TakeSamples();
    if (!samples.empty()) is_there = co_await connection.Write(framed(std::move(samples)));
  }
  if (is_there) {
    std::string end = framed(std::string(kSseDone));
    if (request.is_http_1_1) end += kLastChunk;
    co_await connection.Write(end);
  }
  co_return Ended();
}

}  // namespace weft
