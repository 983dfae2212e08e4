#include "server/api/responses/stored_responses.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <fmt/core.h>

#include "base/result.h"
#include "proto/responses/response_replay.h"
#include "proto/responses/stored_response_json.h"
#include "server/api/responses/response_store.h"
#include "server/http/await.h"
#include "server/http/list_page.h"
#include "server/http/server_context.h"

namespace weft {

namespace asio = boost::asio;

namespace {

constexpr int32_t kListedItems = 20;
constexpr int32_t kMaxListedItems = 100;

ApiError NotFound(std::string_view id) {
  ApiError error = InvalidField(
      "response_id", fmt::format("there is no response '{}' (any more)", id.substr(0, 100)));
  error.status = 404;
  error.code = "response_not_found";
  return error;
}

// How a response is fetched: whole, or as the events of a stream.
struct Fetching {
  bool stream = false;
  int64_t starting_after = -1;  // events that are left out: up to this one
};

ApiResult<Fetching> ReadFetching(const HttpRequest& request) {
  Fetching fetching;
  if (const auto stream = QueryParameter(request.target, "stream")) {
    if (*stream != "true" && *stream != "false") {
      return tl::unexpected(InvalidField(
          "stream",
          fmt::format("'stream' must be true or false, not '{}'", stream->substr(0, 40))));
    }
    fetching.stream = *stream == "true";
  }
  const std::optional<std::string> after = QueryParameter(request.target, "starting_after");
  if (!after) return fetching;
  if (!fetching.stream) {
    return tl::unexpected(InvalidField(
        "starting_after", "'starting_after' has a meaning only together with 'stream=true'"));
  }
  const auto [end, error] =
      std::from_chars(after->data(), after->data() + after->size(), fetching.starting_after);
  if (error != std::errc() || end != after->data() + after->size() || fetching.starting_after < 0) {
    return tl::unexpected(InvalidField(
        "starting_after", fmt::format("'starting_after' must be the number of an event, not '{}'",
                                      after->substr(0, 40))));
  }
  return fetching;
}

// Events are not kept: those of a response that has ended are made again.
ApiResult<HttpResponse> Fetch(const HttpRequest& request, const StoredResponse& stored) {
  WEFT_ASSIGN_OR_RETURN(const Fetching fetching, ReadFetching(request));
  HttpResponse response;
  if (!fetching.stream) {
    response.body = stored.body;
    return response;
  }
  if (!stored.finished) {  // the server shuts down
    return tl::unexpected(
        HttpError(503, "shutting_down", "the response has not ended; fetch it without 'stream'"));
  }
  response.content_type = "text/event-stream; charset=utf-8";
  response.body = ReplayedStream(stored.body, fetching.starting_after);
  return response;
}

// What the model was given: the conversation before the request, and the request's own items.
ApiResult<std::string> ListInput(const HttpRequest& request, const StoredResponse& response) {
  const ApiResult<ListPage> page = ReadListPage(request.target, kListedItems, kMaxListedItems);
  if (!page) return tl::unexpected(page.error());
  StoredItems items = response.history;
  items.insert(items.end(), response.input.begin(), response.input.end());
  if (page->newest_first) std::ranges::reverse(items);
  auto first = items.begin();
  if (page->after) {
    first = std::ranges::find(items, *page->after, [](const auto& item) { return item->id; });
    if (first == items.end()) {
      return tl::unexpected(InvalidField(
          "after", fmt::format("'after': there is no item '{}'", page->after->substr(0, 100))));
    }
    ++first;
  }
  const auto count = std::min<std::ptrdiff_t>(page->limit, items.end() - first);
  std::vector<ListedItem> listed;
  for (auto item = first; item != first + count; ++item) {
    listed.push_back({.id = (*item)->id, .json = (*item)->json});
  }
  return ItemListJson(listed, first + count != items.end());
}

// One that has ended stays as it is.
ApiResult<std::string> Cancel(const StoredResponse& response, ServerContext& context) {
  if (!response.background) {
    return tl::unexpected(
        InvalidField("response_id",
                     "only a response made with 'background' can be cancelled; of others, close "
                     "the connection"));
  }
  context.background.Cancel(response.id);
  const auto ended = context.responses.Find(response.owner, response.id);
  if (ended == nullptr) return tl::unexpected(NotFound(response.id));
  return ended->body;
}

ApiResult<HttpResponse> Answer(const HttpRequest& request, const RouteMatch& match,
                               ServerContext& context) {
  const auto as_json = [](std::string body) {
    HttpResponse response;
    response.body = std::move(body);
    return response;
  };
  ResponseStore& store = context.responses;
  const std::string& id = match.argument;
  const std::string& owner = request.key_name;
  const std::shared_ptr<const StoredResponse> response = store.Find(owner, id);
  if (response == nullptr) return tl::unexpected(NotFound(id));
  switch (match.route->id) {
    case RouteId::kDeleteResponse:
      context.background.Cancel(id);
      if (!store.Erase(owner, id)) return tl::unexpected(NotFound(id));  // another request did
      return as_json(DeletedResponseJson(id));
    case RouteId::kCancelResponse:
      return Cancel(*response, context).map(as_json);
    case RouteId::kResponseInputItems:
      return ListInput(request, *response).map(as_json);
    default:
      return Fetch(request, *response);
  }
}

}  // namespace

asio::awaitable<bool> AwaitStored(Connection& connection, const HttpRequest& request,
                                  const RouteMatch& match, ServerContext& context) {
  constexpr std::chrono::milliseconds kPause{20};
  if (match.route->id != RouteId::kResponse) co_return true;
  const ApiResult<Fetching> fetching = ReadFetching(request);
  if (!fetching || !fetching->stream) co_return true;
  bool is_gone = false;
  connection.Watch([&is_gone] { is_gone = true; });
  asio::steady_timer timer(connection.executor());
  while (!is_gone && !context.draining) {
    const auto stored = context.responses.Find(request.key_name, match.argument);
    if (stored == nullptr || stored->finished) break;
    timer.expires_after(kPause);
    co_await timer.async_wait(kAwait);
  }
  connection.Unwatch();
  co_return !is_gone;
}

HttpResponse HandleStoredResponse(const HttpRequest& request, const RouteMatch& match,
                                  ServerContext& context) {
  ApiResult<HttpResponse> response = Answer(request, match, context);
  return response ? *std::move(response) : ErrorResponse(response.error(), request);
}

}  // namespace weft
