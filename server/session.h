// One connection: its requests, one after the other.
#pragma once

#include <chrono>
#include <memory>

#include <boost/asio/awaitable.hpp>

#include "server/connection.h"
#include "server/entrance.h"
#include "server/generation_handler.h"
#include "server/http_message.h"
#include "server/router.h"
#include "server/server_context.h"

namespace weft {

// Serves until the client or a limit ends the connection. Runs on the connection's strand; the
// context outlives it.
boost::asio::awaitable<void> RunSession(std::shared_ptr<Connection> connection, Entrance entrance,
                                        ServerContext& context);

}  // namespace weft
