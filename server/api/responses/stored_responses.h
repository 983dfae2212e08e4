// What clients do with responses that are stored: fetch, delete, cancel, list what went in.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "server/http/connection.h"
#include "server/http/http_message.h"
#include "server/http/router.h"

namespace weft {

struct ServerContext;

// Before what follows: waits until a response has ended, where the events of its stream are asked
// for. False: the client has gone meanwhile. On the connection's strand.
boost::asio::awaitable<bool> AwaitStored(Connection& connection, const HttpRequest& request,
                                         const RouteMatch& match, ServerContext& context);

// GET, DELETE /v1/responses/{id}; POST .../cancel; GET .../input_items.
HttpResponse HandleStoredResponse(const HttpRequest& request, const RouteMatch& match,
                                  ServerContext& context);

}  // namespace weft
