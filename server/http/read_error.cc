#include "server/http/read_error.h"

#include <fmt/core.h>

#include "server/api/job_memory.h"

namespace weft {

ApiError ReadErrorOf(ReadStatus status, const Connection& connection, const ServerOptions& options,
                     uint64_t max_body_bytes) {
  switch (status) {
    case ReadStatus::kTimedOut:
      return HttpError(408, "request_timeout", "the request did not arrive in time; send it again");
    case ReadStatus::kTruncated:
      return HttpError(400, "incomplete_request", "the connection ended before the request did");
    case ReadStatus::kHeaderTooLarge:
      return HttpError(431, "header_too_large",
                       fmt::format("the request's head has more than {} bytes or {} fields; send "
                                   "fewer or shorter ones",
                                   options.max_header_bytes, ServerOptions::kMaxHeaderFields));
    case ReadStatus::kBodyTooLarge:
      return HttpError(413, "body_too_large",
                       fmt::format("the request's body is larger than {} bytes; send a shorter one",
                                   max_body_bytes));
    case ReadStatus::kShuttingDown:
      return HttpError(503, "shutting_down", "the server is shutting down; try another one");
    case ReadStatus::kBudgetSpent:
      return Overloaded();
    default:
      return HttpError(400, "malformed_request",
                       fmt::format("not an HTTP request: {}", connection.read_error()));
  }
}

}  // namespace weft
