// GET /v1/responses as a WebSocket: one response after another over one connection, each asked for
// by a message {"type":"response.create",...} and told by messages that are its stream's events.
#pragma once

#include <chrono>
#include <functional>

#include <boost/asio/awaitable.hpp>

#include "server/http/connection.h"
#include "server/http/exchange_outcome.h"
#include "server/http/http_message.h"
#include "server/http/server_context.h"

namespace weft {

// Called when a response has ended, or was refused.
using RecordExchange = std::function<void(const HttpRequest&, const ExchangeOutcome&,
                                          std::chrono::steady_clock::time_point started)>;

// From the head that answers `request`, which is a handshake, until the connection is to be closed.
// The last response of the connection can be gone on from even if it is not stored, unless that
// fails. On the connection's strand; everything passed in outlives it.
boost::asio::awaitable<void> RunResponsesSocket(Connection& connection, const HttpRequest& request,
                                                ServerContext& context,
                                                const RecordExchange& record);

}  // namespace weft
