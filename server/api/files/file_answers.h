// /v1/files, but for uploads.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "server/http/connection.h"
#include "server/http/exchange_outcome.h"
#include "server/http/http_message.h"
#include "server/http/router.h"

namespace weft {

struct ServerContext;

// 501 "not_offered", where there is no --files-dir.
ApiError FilesNotOffered();

// Lists, objects, deletions. Waits for the disk.
HttpResponse AnswerFiles(const HttpRequest& request, const RouteMatch& match,
                         ServerContext& context);

// A file's content, piece by piece from the disk.
boost::asio::awaitable<ExchangeOutcome> SendFileContent(Connection& connection,
                                                        const HttpRequest& request,
                                                        const std::string& id,
                                                        ServerContext& context);

}  // namespace weft
