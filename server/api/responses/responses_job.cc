#include "server/api/responses/responses_job.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "proto/json_dump.h"
#include "proto/responses/response_items.h"
#include "proto/responses/responses_request.h"
#include "server/api/conversation/reply_job.h"
#include "server/api/responses/response_store.h"
#include "server/api/responses/responses_answer.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

// Nobody can guess it: where there are no keys, it opens a stored conversation.
std::string MakeResponseId() {
  std::random_device device;
  std::string id(kResponseIdPrefix);
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", device());
  return id;
}

// What the request goes on from.
ApiResult<StoredItems> HistoryOf(const ResponsesRequest& request, const PrepareContext& context) {
  StoredItems history;
  if (!request.previous_response_id) return history;
  const std::string& id = *request.previous_response_id;
  const auto previous = context.responses->Find(context.owner, id);
  if (previous == nullptr) {
    ApiError error = InvalidField(
        "previous_response_id",
        fmt::format("'previous_response_id': there is no response '{}' (any more); send the "
                    "conversation as 'input'",
                    id.substr(0, 100)));
    error.code = "previous_response_not_found";
    return tl::unexpected(std::move(error));
  }
  if (!previous->finished) {
    return tl::unexpected(InvalidField(
        "previous_response_id",
        fmt::format("'previous_response_id': the response '{}' is not finished yet", id)));
  }
  for (const StoredItems* const items : {&previous->history, &previous->input, &previous->output}) {
    history.insert(history.end(), items->begin(), items->end());
  }
  return history;
}

// The request's items with the ids that they lack; references become what they refer to.
ApiResult<StoredItems> TakeInput(ordered_json& input, const std::string& response_id,
                                 const PrepareContext& context) {
  StoredItems items;
  for (size_t i = 0; i < input.size(); ++i) {
    ordered_json& item = input[i];
    if (item["type"] == "item_reference") {
      auto stored =
          context.responses->FindItem(context.owner, item["id"].get_ref<const std::string&>());
      if (stored == nullptr) {
        const std::string path = fmt::format("input[{}].id", i);
        ApiError error = InvalidField(
            path, fmt::format("'{}': there is no item '{}' (any more); send the item itself", path,
                              item["id"].get<std::string>().substr(0, 100)));
        error.code = "item_not_found";
        return tl::unexpected(std::move(error));
      }
      items.push_back(std::move(stored));
      continue;
    }
    if (!item.contains("id")) {
      ordered_json named = {
          {"id", MakeItemId(item["type"].get_ref<const std::string&>(), response_id, i)}};
      named.update(item);
      item = std::move(named);
    }
    items.push_back(std::make_shared<const StoredItem>(
        StoredItem{.id = item["id"].get<std::string>(), .json = DumpJson(item)}));
  }
  return items;
}

ApiResult<ordered_json> MessagesOf(const StoredItems& history, const StoredItems& input,
                                   const std::optional<std::string>& instructions) {
  std::vector<ordered_json> items;
  for (const StoredItems* const list : {&history, &input}) {
    for (const auto& item : *list) items.push_back(ordered_json::parse(item->json));
  }
  return MessagesOfItems(items, history.size(), instructions);
}

size_t TextBytes(const StoredItems& items) {
  size_t size_bytes = 0;
  for (const auto& item : items) size_bytes += item->json.size();
  return size_bytes;
}

ApiResult<bool> StoresOf(const ResponsesRequest& request, const ResponseStore& store) {
  const bool stores = request.background || request.store.value_or(store.enabled());
  if (!stores || store.enabled()) return stores;
  const std::string name = request.background ? "background" : "store";
  return tl::unexpected(UnsupportedParameter(
      name,
      fmt::format("'{}' is not supported: this server was started with --response-store 0", name)));
}

}  // namespace

ApiResult<GenerationJob> PrepareResponse(std::string_view body, const PrepareContext& context) {
  ApiResult<ResponsesRequest> request = ParseResponsesRequest(body, context.rules);
  if (!request) return tl::unexpected(std::move(request).error());
  ResponseStore& store = *context.responses;
  const ApiResult<bool> stores = StoresOf(*request, store);
  if (!stores) return tl::unexpected(stores.error());

  ResponsesAnswerOptions answer;
  answer.owner = context.owner;
  answer.id = MakeResponseId();
  ApiResult<StoredItems> history = HistoryOf(*request, context);
  if (!history) return tl::unexpected(std::move(history).error());
  ApiResult<StoredItems> input = TakeInput(request->input, answer.id, context);
  if (!input) return tl::unexpected(std::move(input).error());
  // Of the input, what is not in the body is what it refers to.
  const size_t size_bytes = TextBytes(*history) + std::max(body.size(), TextBytes(*input));
  if (size_bytes > context.max_bytes) {
    GenerationJob excess;
    excess.excess_bytes = size_bytes;
    return excess;
  }
  ApiResult<ordered_json> messages = MessagesOf(*history, *input, request->instructions);
  if (!messages) return tl::unexpected(std::move(messages).error());
  request->chat.messages = *std::move(messages);

  ApiResult<GenerationJob> job = PrepareReply(request->chat, context, answer.reply);
  if (!job || job->excess_bytes > 0) return job;
  answer.model = job->model;
  answer.logprobs = request->chat.logprobs;
  answer.stream = request->chat.stream;
  answer.background = request->background;
  answer.echo = std::move(request->echo);
  answer.echo["store"] = *stores;
  if (*stores) answer.store = &store;
  answer.history = *std::move(history);
  answer.input = *std::move(input);
  job->keeps_stream = true;  // for the store, and for its last event
  auto made = std::make_unique<ResponsesAnswer>(std::move(answer));
  if (request->background) job->background = made.get();
  job->answer = std::move(made);
  return job;
}

}  // namespace weft
