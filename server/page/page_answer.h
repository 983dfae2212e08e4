// What browsers get of the page.
#pragma once

#include "server/http/http_message.h"
#include "server/http/router.h"
#include "server/page/page_files.h"

namespace weft {

// The file that a request is for, which anybody may have, because all have the same: at `/` where a
// browser asks, under /page/ whoever does. nullptr: it is for something else, or for no file.
const PageFile* PageFileFor(const HttpRequest& request, const RouteMatch& match);

// The file, or 304 where the client has it. Its headers keep the page to itself: no script and no
// style but its own, requests to this server alone, no frame around it.
HttpResponse PageAnswer(const HttpRequest& request, const PageFile& file);

}  // namespace weft
