// A request's wait for the model that it names to be loaded: without a thread, and not for ever.
#pragma once

#include <string>

#include <boost/asio/awaitable.hpp>

#include "proto/api_error.h"
#include "server/models/model_registry.h"

namespace weft {

class Connection;
class WebSocket;
struct ServerContext;

// Has the model loaded and waits for it; gives up when the client has gone or after model_patience
// of the server's options. Of a request that came over a WebSocket, that answers pings meanwhile.
// On the connection's strand. Errors as ModelRegistry::Load and StopWaiting.
boost::asio::awaitable<ApiResult<ModelLease>> AwaitModel(std::string id, Connection& connection,
                                                         ServerContext& context, WebSocket* socket);

}  // namespace weft
