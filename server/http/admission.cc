#include "server/http/admission.h"

#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/core.h>

#include "base/log.h"
#include "engine/engine.h"
#include "server/http/processor_clock.h"
#include "server/http/refusal_pacing.h"
#include "server/http/server_context.h"
#include "server/http/wakeup.h"

namespace weft {
namespace {

namespace asio = boost::asio;

// For how many of those who wait it has become worth asking again.
int64_t RoomFor(const ServerContext& context) {
  if (context.draining) return std::numeric_limits<int64_t>::max();
  return context.models->Room();
}

// For want of memory, most likely: then the line is not missed.
void TryLog(const std::exception& problem) {
  try {
    Log(LogLevel::kError, "refusals: {}", problem.what());
  } catch (const std::exception&) {
  }
}

// While there is a line.
asio::awaitable<void> AttendToLine(ServerContext& context) {
  // Many at a time: each wake-up by itself costs more than the refusal.
  constexpr std::chrono::milliseconds kPause{20};
  asio::steady_timer timer(co_await asio::this_coro::executor);
  bool is_waited_for = true;
  while (is_waited_for) {
    try {
      timer.expires_after(kPause);
      co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
      is_waited_for = context.refusal_pacing.Release(ProcessorNow(), RoomFor(context));
    } catch (const std::exception& problem) {  // who waits must not do so for good
      TryLog(problem);
    }
  }
}

// There is nobody to attend to the line: those in it shall not wait for one who does not come. Who
// cannot be called either, for want of memory, waits for whom the next one to join brings.
void DissolveLine(RefusalPacing& pacing) {
  try {
    pacing.Release(ProcessorNow(), std::numeric_limits<int64_t>::max());
  } catch (const std::exception& problem) {
    TryLog(problem);
  }
  pacing.Abandon();
}

}  // namespace

std::optional<ApiError> RefuseBeforeBody(const ServerContext& context) {
  if (context.draining) return ShuttingDown();
  if (context.models->Room() > 0) return std::nullopt;
  const std::optional<ModelStatus> model = context.models->Look(std::nullopt);
  if (model && model->lease) return QueueFull(*model->lease->engine);
  return HttpError(503, "overloaded",
                   "too many requests are waiting for models to be loaded; try again later");
}

asio::awaitable<Admission> AskToComeIn(Connection& connection, ServerContext& context,
                                       CpuStopwatch& spent) {
  Admission admission{.refusal = RefuseBeforeBody(context)};
  if (!admission.refusal || context.draining || context.refusal_pacing.MayRefuse(ProcessorNow())) {
    co_return admission;
  }
  const auto executor = connection.executor();
  const auto wakeup = std::make_shared<Wakeup>(executor);
  RefusalPacing::Place place(context.refusal_pacing, [executor, wakeup] {
    asio::post(executor, [wakeup] { wakeup->Signal(); });
  });
  const RefusalPacing::Joined joined = place.Join();
  if (joined == RefusalPacing::Joined::kFull) {
    admission.keep_alive = false;
    co_return admission;
  }
  if (joined == RefusalPacing::Joined::kFirst) {
    try {
      asio::co_spawn(executor, AttendToLine(context), asio::detached);
    } catch (const std::exception&) {
      DissolveLine(context.refusal_pacing);
      throw;
    }
  }
  spent.Stop();
  co_await wakeup->Wait();
  spent.Start();
  admission.refusal = RefuseBeforeBody(context);
  co_return admission;
}

ApiError QueueFull(const Engine& engine) {
  constexpr std::chrono::seconds kUnknown{5};  // the queue is full, and nothing has left it yet
  ApiError error =
      HttpError(429, "queue_full",
                fmt::format("{} requests are waiting already, the most allowed; try again later",
                            engine.options().max_waiting));
  error.type = "rate_limit_error";
  error.retry_after = engine.TimeToDrain().value_or(kUnknown);
  return error;
}

// Others take over at once, where there are others; when this one is back nobody knows.
ApiError ShuttingDown() {
  return HttpError(503, "shutting_down", "the server is shutting down; try another one");
}

}  // namespace weft
