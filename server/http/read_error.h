// What a client is told whose request could not be read.
#pragma once

#include <cstdint>

#include "proto/api_error.h"
#include "server/http/connection.h"
#include "server/http/server_options.h"

namespace weft {

// `status` is neither kOk nor kClosed; `max_body_bytes` is what the request might have had.
ApiError ReadErrorOf(ReadStatus status, const Connection& connection, const ServerOptions& options,
                     uint64_t max_body_bytes);

}  // namespace weft
