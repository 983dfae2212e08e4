// Where requests are prepared: what takes long must not hold up an io thread (law 5).
#pragma once

#include <cstddef>
#include <functional>

#include <boost/asio/awaitable.hpp>

#include "proto/api_error.h"
#include "server/http/byte_budget.h"

namespace weft {

class PreparationBytes;
struct ServerContext;

// Calls `work`, which a body of this size needs: here if the body is short, otherwise on a
// preparation thread. Error, and `work` is not called: 503 "overloaded", too many wait for those
// threads. What `work` throws comes out here.
boost::asio::awaitable<ApiResult<void>> RunPreparation(ServerContext& context, size_t body_bytes,
                                                       const std::function<void()>& work);

// As RunPreparation, but `held` has `working_bytes` more while a long body's work is done. Errors
// besides: as HoldMore.
boost::asio::awaitable<ApiResult<void>> RunHeldPreparation(ServerContext& context,
                                                           size_t body_bytes,
                                                           PreparationBytes working_bytes,
                                                           ByteBudget::Hold& held,
                                                           const std::function<void()>& work);

// As RunPreparation, for an answer of which so many bytes are put together: never refused, because
// what the engine has done is not done again, and not more at a time than requests.
boost::asio::awaitable<void> RunAnswering(ServerContext& context, size_t answer_bytes,
                                          const std::function<void()>& work);

// As RunAnswering, for work that waits for the disk: always on a preparation thread.
boost::asio::awaitable<void> RunOnDisk(ServerContext& context, const std::function<void()>& work);

}  // namespace weft
