// GET /watch: the last hour, and then each second as it ends, as server-sent events.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "server/http/connection.h"
#include "server/http/exchange_outcome.h"
#include "server/http/http_message.h"
#include "server/http/server_context.h"

namespace weft {

// Ends a second of context.watch at once and then each second, until the io_context stops. One a
// server.
boost::asio::awaitable<void> KeepWatch(ServerContext& context);

// Goes on until the client leaves or the server shuts down. Who does not see all keys sees what its
// own did. 503 where so many watch already that it would cost others.
boost::asio::awaitable<ExchangeOutcome> StreamWatch(Connection& connection,
                                                    const HttpRequest& request,
                                                    ServerContext& context, ByteBudget::Hold& held);

}  // namespace weft
