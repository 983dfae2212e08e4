// The routes that answer at once: health, readiness, metrics, version, models (Ollama's
// lists too), the API's description, stored responses.
#pragma once

#include "server/http/http_message.h"
#include "server/http/router.h"

namespace weft {

struct ServerContext;

HttpResponse HandlePlainRoute(const HttpRequest& request, const RouteMatch& match,
                              ServerContext& context);

}  // namespace weft
