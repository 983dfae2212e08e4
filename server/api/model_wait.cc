#include "server/api/model_wait.h"

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/http/connection.h"
#include "server/http/server_context.h"
#include "server/http/wakeup.h"
#include "server/http/web_socket.h"
#include "server/models/pending_model.h"

namespace weft {
namespace {

namespace asio = boost::asio;

// What wakes the coroutine; timers and other threads share it.
struct WaitState {
  explicit WaitState(const asio::any_io_executor& strand) : wakeup(strand), limit(strand) {}

  Wakeup wakeup;
  asio::steady_timer limit;
  bool is_late = false;
};

void BeginLimit(const std::shared_ptr<WaitState>& state, std::chrono::milliseconds patience) {
  state->limit.expires_after(patience);
  state->limit.async_wait([weak = std::weak_ptr(state)](boost::system::error_code error) {
    const auto alive = weak.lock();
    if (error || alive == nullptr) return;
    alive->is_late = true;
    alive->wakeup.Signal();
  });
}

}  // namespace

asio::awaitable<ApiResult<ModelLease>> AwaitModel(std::string id, Connection& connection,
                                                  ServerContext& context, WebSocket* socket) {
  const asio::any_io_executor strand = connection.executor();
  const auto state = std::make_shared<WaitState>(strand);
  ApiResult<PendingModel> model = PendingModel::Begin(*context.models, id, [strand, state] {
    asio::post(strand, [state] { state->wakeup.Signal(); });
  });
  if (!model) co_return tl::unexpected(std::move(model).error());
  BeginLimit(state, context.options.model_patience);
  bool is_gone = false;
  std::function<void()> on_readable;
  if (socket != nullptr) on_readable = [&state] { state->wakeup.Signal(); };
  connection.Watch(
      [&] {
        is_gone = true;
        state->wakeup.Signal();
      },
      std::move(on_readable));
  while (!model->has_ended() && !state->is_late && !is_gone) {
    co_await state->wakeup.Wait();
    if (socket == nullptr) continue;
    const bool is_there = co_await socket->AnswerPings();
    is_gone |= !is_there;
  }
  connection.Unwatch();
  co_return model->Take();
}

}  // namespace weft
