#include "server/preparation.h"

#include <atomic>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "server/server_context.h"

namespace weft {
namespace {

namespace asio = boost::asio;

// Holds a place on the preparation threads.
struct PreparationSlot {
  explicit PreparationSlot(std::atomic<int32_t>& taken) : count(taken) {
    position = count.fetch_add(1);
  }
  ~PreparationSlot() { count.fetch_sub(1); }
  PreparationSlot(const PreparationSlot&) = delete;
  PreparationSlot& operator=(const PreparationSlot&) = delete;

  std::atomic<int32_t>& count;
  int32_t position = 0;
};

asio::awaitable<void, asio::thread_pool::executor_type> RunOnPool(
    const std::function<void()>& work) {
  work();
  co_return;
}

}  // namespace

asio::awaitable<ApiResult<void>> RunPreparation(ServerContext& context, size_t body_bytes,
                                                const std::function<void()>& work) {
  if (body_bytes <= context.options.inline_body_bytes) {
    work();
    co_return ApiResult<void>();
  }
  const PreparationSlot slot(context.preparations);
  if (slot.position >= context.options.max_preparations) {
    co_return tl::unexpected(HttpError(
        503, "overloaded", "too many long requests are being read; try again in a second"));
  }
  co_await asio::co_spawn(context.preparation.executor(), RunOnPool(work), asio::use_awaitable);
  co_return ApiResult<void>();
}

asio::awaitable<void> RunAnswering(ServerContext& context, size_t answer_bytes,
                                   const std::function<void()>& work) {
  if (answer_bytes <= context.options.inline_body_bytes) {
    work();
    co_return;
  }
  co_await asio::co_spawn(context.preparation.executor(), RunOnPool(work), asio::use_awaitable);
}

}  // namespace weft
