#include "server/api/model_wait.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/result.h"
#include "server/http/connection.h"
#include "server/http/server_context.h"
#include "server/http/wakeup.h"
#include "server/http/web_socket.h"

namespace weft {
namespace {

namespace asio = boost::asio;

// One wait. On the strand from Begin on; what other threads and timers post shares the state.
class ModelWait {
 public:
  ModelWait(asio::any_io_executor strand, ServerContext& context)
      : strand_(std::move(strand)), context_(context), state_(std::make_shared<State>(strand_)) {}
  ~ModelWait() {
    if (ticket_ != 0 && !state_->result) context_.models->StopWaiting(ticket_);
  }
  ModelWait(const ModelWait&) = delete;
  ModelWait& operator=(const ModelWait&) = delete;

  ApiResult<void> Begin(const std::string& id) {
    auto done = [strand = strand_, state = state_](ApiResult<ModelLease> result) {
      asio::post(strand, [state, result = std::move(result)]() mutable {
        state->result = std::move(result);
        state->wakeup.Signal();
      });
    };
    WEFT_ASSIGN_OR_RETURN(ticket_, context_.models->Load(id, std::move(done)));
    state_->limit.expires_after(context_.options.model_patience);
    state_->limit.async_wait([weak = std::weak_ptr(state_)](boost::system::error_code error) {
      const auto state = weak.lock();
      if (error || state == nullptr) return;
      state->is_late = true;
      state->wakeup.Signal();
    });
    return {};
  }

  bool is_over() const { return state_->result.has_value() || state_->is_late; }
  // Until it is over, or Signal was called.
  asio::awaitable<void> Pause() { co_await state_->wakeup.Wait(); }
  void Signal() { state_->wakeup.Signal(); }

  // Gives up, if there is no result.
  ApiResult<ModelLease> Take() {
    if (state_->result) return *std::move(state_->result);
    return tl::unexpected(context_.models->StopWaiting(std::exchange(ticket_, 0)));
  }

 private:
  struct State {
    explicit State(const asio::any_io_executor& strand) : wakeup(strand), limit(strand) {}

    Wakeup wakeup;
    asio::steady_timer limit;
    bool is_late = false;
    std::optional<ApiResult<ModelLease>> result;
  };

  const asio::any_io_executor strand_;
  ServerContext& context_;
  const std::shared_ptr<State> state_;
  ModelRegistry::Ticket ticket_ = 0;  // 0: none
};

}  // namespace

asio::awaitable<ApiResult<ModelLease>> AwaitModel(std::string id, Connection& connection,
                                                  ServerContext& context, WebSocket* socket) {
  ModelWait wait(connection.executor(), context);
  if (ApiResult<void> begun = wait.Begin(id); !begun) {
    co_return tl::unexpected(std::move(begun).error());
  }
  bool is_gone = false;
  std::function<void()> on_readable;
  if (socket != nullptr) on_readable = [&wait] { wait.Signal(); };
  connection.Watch(
      [&] {
        is_gone = true;
        wait.Signal();
      },
      std::move(on_readable));
  while (!wait.is_over() && !is_gone) {
    co_await wait.Pause();
    if (socket == nullptr) continue;
    const bool is_there = co_await socket->AnswerPings();
    is_gone |= !is_there;
  }
  connection.Unwatch();
  co_return wait.Take();
}

}  // namespace weft
