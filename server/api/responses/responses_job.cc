#include "server/api/responses/responses_job.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "engine/engine.h"
#include "proto/json_dump.h"
#include "proto/responses/compaction.h"
#include "proto/responses/responses_request.h"
#include "server/api/conversation/reply_job.h"
#include "server/api/prompt_tokens.h"
#include "server/api/responses/compaction_answer.h"
#include "server/api/responses/response_conversation.h"
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
  std::shared_ptr<const StoredResponse> previous;
  if (context.socket != nullptr && context.socket->last && context.socket->last->id == id) {
    previous = context.socket->last;
    context.socket->continues_last = true;
  } else {
    previous = context.responses->Find(context.owner, id);
  }
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

// A request, with the items that it is about.
struct ReadItems {
  std::string response_id;
  StoredItems history;
  StoredItems input;
  ResponseConversation conversation;
  size_t size_bytes = 0;  // of all that it stands for
};

// `request` outlives it, and loses its input and instructions.
ApiResult<ReadItems> ReadItemsOf(ResponsesRequest& request, size_t body_bytes,
                                 const PrepareContext& context) {
  ReadItems read;
  read.response_id = MakeResponseId();
  WEFT_ASSIGN_OR_RETURN(read.history, HistoryOf(request, context));
  WEFT_ASSIGN_OR_RETURN(read.input, TakeInput(request.input, read.response_id, context));
  // Of the input, what is not in the body is what it refers to.
  read.size_bytes = TextBytes(read.history) + std::max(body_bytes, TextBytes(read.input));
  if (read.size_bytes > context.max_bytes) return read;
  read.conversation = ConversationOf(read.history, read.input);
  read.conversation.instructions = std::move(request.instructions);
  read.conversation.tools = &request.tools;
  return read;
}

GenerationJob ExcessOf(const ReadItems& read) {
  GenerationJob excess;
  excess.excess_bytes = read.size_bytes;
  return excess;
}

// Behind the conversation's last message, or with it: many templates want speakers to take turns.
void AskForSummary(ordered_json& messages) {
  constexpr std::string_view kRequest =
      "Summarise this conversation, so that whoever reads your summary instead of it can go on: "
      "what was asked for, what has been decided, done and found out, and what is left to do. Keep "
      "names, paths, numbers and code that matter as they are. Write the summary alone.";
  ordered_json& last = messages.back();
  if (last["role"] == "user" && last["content"].is_string()) {
    last["content"] = fmt::format("{}\n\n{}", last["content"].get<std::string>(), kRequest);
  } else {
    messages.push_back({{"role", "user"}, {"content", kRequest}});
  }
}

// `request` is what a body of so many bytes has said.
ApiResult<GenerationJob> PrepareParsedResponse(ApiResult<ResponsesRequest> request,
                                               size_t body_bytes, const PrepareContext& context) {
  if (!request) return tl::unexpected(std::move(request).error());
  ResponseStore& store = *context.responses;
  const ApiResult<bool> stores = StoresOf(*request, store);
  if (!stores) return tl::unexpected(stores.error());
  ApiResult<ReadItems> read = ReadItemsOf(*request, body_bytes, context);
  if (!read) return tl::unexpected(std::move(read).error());
  if (read->size_bytes > context.max_bytes) return ExcessOf(*read);

  ResponsesAnswerOptions answer;
  const auto prepare = request->truncates ? PrepareTruncated : PrepareConversation;
  ApiResult<GenerationJob> job = prepare(read->conversation, request->chat, context, answer.reply);
  if (!job || job->excess_bytes > 0) return job;
  answer.model = job->model;
  answer.owner = context.owner;
  answer.id = std::move(read->response_id);
  answer.logprobs = request->chat.logprobs;
  answer.seals_reasoning = request->seals_reasoning;
  answer.tools = std::move(request->tools);
  answer.stream = request->chat.stream;
  answer.background = request->background;
  answer.echo = std::move(request->echo);
  answer.echo["store"] = *stores;
  if (*stores) answer.store = &store;
  answer.socket = context.socket;
  answer.generates = request->generates;
  if (!request->generates) job->sampling.max_tokens = 1;  // what comes out is not looked at
  answer.history = std::move(read->history);
  answer.input = std::move(read->input);
  job->keeps_stream = true;  // for the store, and for its last event
  auto made = std::make_unique<ResponsesAnswer>(std::move(answer));
  if (request->background) job->background = made.get();
  job->answer = std::move(made);
  return job;
}

}  // namespace

ApiResult<GenerationJob> PrepareResponse(std::string_view body, const PrepareContext& context) {
  return PrepareParsedResponse(ParseResponsesRequest(body, context.rules), body.size(), context);
}

ApiResult<GenerationJob> PrepareSocketResponse(std::string_view body,
                                               const PrepareContext& context) {
  return PrepareParsedResponse(ParseSocketRequest(body, context.rules), body.size(), context);
}

ApiResult<GenerationJob> PrepareCompaction(std::string_view body, const PrepareContext& context) {
  // Of the context, what a summary may take.
  constexpr int32_t kSummaryShare = 8;
  ApiResult<ResponsesRequest> request = ParseCompactionRequest(body, context.rules);
  if (!request) return tl::unexpected(std::move(request).error());
  ApiResult<ReadItems> read = ReadItemsOf(*request, body.size(), context);
  if (!read) return tl::unexpected(std::move(read).error());
  if (read->size_bytes > context.max_bytes) return ExcessOf(*read);
  ChatRequest& chat = request->chat;
  WEFT_ASSIGN_OR_RETURN(chat.messages, MessagesOf(read->conversation));
  AskForSummary(chat.messages);
  chat.sampling.temperature = 0;
  chat.template_variables["enable_thinking"] = false;

  ReplySetup setup;
  ApiResult<GenerationJob> job = PrepareReply(chat, context, setup);
  if (!job || job->excess_bytes > 0) return job;
  const int32_t most = job->model->engine->options().max_context / kSummaryShare;
  job->sampling.max_tokens = std::min(job->sampling.max_tokens, std::max(most, 1));
  CompactedConversation compacted;
  compacted.id = read->response_id;
  compacted.item_id = MakeItemId("compaction", compacted.id, 0);
  // What the user has said stays.
  const std::vector<ordered_json>& items = read->conversation.items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i]["type"] != "message" || items[i]["role"] != "user") continue;
    compacted.kept.push_back(DumpJson(items[i]));
  }
  job->answer = std::make_unique<CompactionAnswer>(setup, std::move(compacted));
  return job;
}

ApiResult<PostAnswer> AnswerInputTokens(std::string_view body, const PrepareContext& context) {
  ApiResult<ResponsesRequest> request = ParseResponsesRequest(body, context.rules);
  if (!request) return tl::unexpected(std::move(request).error());
  ApiResult<ReadItems> read = ReadItemsOf(*request, body.size(), context);
  if (!read) return tl::unexpected(std::move(read).error());
  if (read->size_bytes > context.max_bytes) {
    PostAnswer excess;
    excess.excess_bytes = read->size_bytes;
    return excess;
  }
  const ApiResult<const ServedModel*> model = FindGenerator(request->chat.model, context.models);
  if (!model) return tl::unexpected(model.error());
  WEFT_ASSIGN_OR_RETURN(request->chat.messages, MessagesOf(read->conversation));
  WEFT_ASSIGN_OR_RETURN(const int64_t count, CountReplyPrompt(request->chat, **model));
  return PostAnswer{.body = InputTokensJson(count),
                    .unknown_field_count = request->chat.unknown_field_count};
}

}  // namespace weft
