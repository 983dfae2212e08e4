// /v1/batches.
#pragma once

#include "server/http/http_message.h"
#include "server/http/router.h"

namespace weft {

struct ServerContext;

// Waits for the disk. What a batch does is done by the context's runner.
HttpResponse AnswerBatches(const HttpRequest& request, const RouteMatch& match,
                           ServerContext& context);

}  // namespace weft
