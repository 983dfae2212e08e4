#include "server/api/preparation.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "server/api/job_memory.h"
#include "server/http/server_context.h"

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

using Waiter = asio::async_result<asio::use_awaitable_t<>, void(std::exception_ptr)>::handler_type;

// The waiter goes on, on its own thread. Nobody else can tell it: where memory is refused, others
// give theirs back in time.
void Resume(const std::shared_ptr<std::optional<Waiter>>& waiter,
            const std::exception_ptr& failure) {
  constexpr std::chrono::milliseconds kPause{1};
  while (true) {
    try {
      asio::post(asio::get_associated_executor(**waiter),
                 [waiter, failure] { std::move (**waiter)(failure); });
      return;
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(kPause);
    }
  }
}

// Calls `work` on a preparation thread; what it throws comes out here.
asio::awaitable<void> RunOnThread(ServerContext& context, size_t size_bytes,
                                  const std::function<void()>& work) {
  // All that can fail does so before the work is in the line, which refers to this frame.
  const auto waiter = std::make_shared<std::optional<Waiter>>();
  PreparationQueue::Entry entry(size_bytes, [&work, waiter] {
    std::exception_ptr failure;
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    Resume(waiter, failure);
  });
  const auto add = [&](Waiter handler) {
    waiter->emplace(std::move(handler));
    context.preparation.Add(std::move(entry));
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>&, void(std::exception_ptr)>(
      add, asio::use_awaitable);
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
  co_await RunOnThread(context, body_bytes, work);
  co_return ApiResult<void>();
}

asio::awaitable<ApiResult<void>> RunHeldPreparation(ServerContext& context, size_t body_bytes,
                                                    PreparationBytes working_bytes,
                                                    ByteBudget::Hold& held,
                                                    const std::function<void()>& work) {
  // What short ones need is set aside for the io threads.
  const bool is_short = body_bytes <= context.options.inline_body_bytes;
  std::optional<ApiError> refusal;
  const std::function<void()> held_work = [&] {
    const uint64_t more_bytes = is_short ? 0 : working_bytes.Count();
    refusal = HoldMore(held, more_bytes);
    if (refusal) return;
    work();
    held.Give(more_bytes);
  };
  const ApiResult<void> run = co_await RunPreparation(context, body_bytes, held_work);
  if (!run) co_return run;
  if (refusal) co_return tl::unexpected(*std::move(refusal));
  co_return ApiResult<void>();
}

asio::awaitable<void> RunAnswering(ServerContext& context, size_t answer_bytes,
                                   const std::function<void()>& work) {
  if (answer_bytes <= context.options.inline_body_bytes) {
    work();
    co_return;
  }
  co_await RunOnThread(context, answer_bytes, work);
}

asio::awaitable<void> RunOnDisk(ServerContext& context, const std::function<void()>& work) {
  co_await RunOnThread(context, context.options.inline_body_bytes, work);
}

}  // namespace weft
