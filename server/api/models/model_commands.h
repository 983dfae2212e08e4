// POST /models/load and /models/unload, as llama-server's router has them.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "server/http/http_message.h"
#include "server/http/router.h"

namespace weft {

class Connection;
struct ServerContext;

// Loading is answered when the model is loaded, or cannot be; unloading at once: the model leaves
// when nobody uses it. On the connection's strand.
boost::asio::awaitable<HttpResponse> HandleModelCommand(Connection& connection,
                                                        const HttpRequest& request, RouteId route,
                                                        ServerContext& context);

}  // namespace weft
