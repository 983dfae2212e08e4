#include "server/api/responses/response_conversation.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "engine/engine.h"
#include "proto/responses/response_items.h"
#include "server/api/conversation/reply_job.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

bool IsTooLong(const ApiResult<GenerationJob>& job) {
  return !job && job.error().code == "context_length_exceeded";
}

bool IsMessageOf(const ordered_json& item, std::string_view role) {
  return item["type"] == "message" && item["role"] == role;
}

// Where items [0, kept) and [first, end) stand, but for what answers a call that has gone.
std::vector<size_t> PlacesWithout(const std::vector<ordered_json>& items, size_t kept,
                                  size_t first) {
  std::vector<size_t> places;
  for (size_t i = 0; i < kept; ++i) places.push_back(i);
  std::set<std::string, std::less<>> calls;
  for (size_t i = first; i < items.size(); ++i) {
    const auto& type = items[i]["type"].get_ref<const std::string&>();
    if (type.ends_with("_call")) calls.insert(items[i]["call_id"].get<std::string>());
    const bool answers_none = type.ends_with("_call_output") &&
                              !calls.contains(items[i]["call_id"].get_ref<const std::string&>());
    if (!answers_none) places.push_back(i);
  }
  return places;
}

// Of the items at these places, which are lent: there is no memory for a second one of each.
ApiResult<GenerationJob> PreparePlaces(const std::vector<size_t>& places,
                                       ResponseConversation& conversation, ChatRequest& chat,
                                       const PrepareContext& context, ReplySetup& setup) {
  ResponseConversation part;
  part.instructions = conversation.instructions;
  part.tools = conversation.tools;
  for (const size_t place : places) part.items.push_back(std::move(conversation.items[place]));
  ApiResult<GenerationJob> job = PrepareConversation(part, chat, context, setup);
  for (size_t i = 0; i < places.size(); ++i) {
    conversation.items[places[i]] = std::move(part.items[i]);
  }
  return job;
}

}  // namespace

ResponseConversation ConversationOf(const StoredItems& history, const StoredItems& input) {
  ResponseConversation conversation;
  conversation.history_count = history.size();
  for (const StoredItems* const list : {&history, &input}) {
    for (const auto& item : *list) conversation.items.push_back(ordered_json::parse(item->json));
  }
  return conversation;
}

ApiResult<ordered_json> MessagesOf(const ResponseConversation& conversation) {
  return MessagesOfItems(conversation.items, conversation.history_count, conversation.instructions,
                         *conversation.tools);
}

ApiResult<GenerationJob> PrepareConversation(ResponseConversation& conversation, ChatRequest& chat,
                                             const PrepareContext& context, ReplySetup& setup) {
  WEFT_ASSIGN_OR_RETURN(chat.messages, MessagesOf(conversation));
  return PrepareReply(chat, context, setup);
}

ApiResult<GenerationJob> PrepareTruncated(ResponseConversation& conversation, ChatRequest& chat,
                                          const PrepareContext& context, ReplySetup& setup) {
  ApiResult<GenerationJob> whole = PrepareConversation(conversation, chat, context, setup);
  if (!IsTooLong(whole)) return whole;
  // To find out how much has to go takes a while.
  if (!context.may_compile) return ExcessJob(context);
  const ApiResult<const ServedModel*> model = FindGenerator(chat.model, context.models);
  if (!model) return tl::unexpected(model.error());
  const std::vector<ordered_json>& items = conversation.items;
  size_t kept = 0;
  while (kept < items.size() &&
         (IsMessageOf(items[kept], "system") || IsMessageOf(items[kept], "developer"))) {
    ++kept;
  }
  std::vector<size_t> turns;  // where they begin, but the first
  for (size_t i = kept + 1; i < items.size(); ++i) {
    if (IsMessageOf(items[i], "user")) turns.push_back(i);
  }
  // An answer of any length must have some room, too.
  constexpr int32_t kAnswerShare = 8;
  const std::optional<int32_t> asked = chat.max_tokens;
  const auto prepare_from = [&](size_t turn) {
    return PreparePlaces(PlacesWithout(items, kept, turns[turn]), conversation, chat, context,
                         setup);
  };
  chat.max_tokens =
      asked.value_or(std::max((*model)->engine->options().max_context / kAnswerShare, 1));
  size_t begin = 0;
  size_t end = turns.size();
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    if (IsTooLong(prepare_from(middle))) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  chat.max_tokens = asked;
  return begin == turns.size() ? std::move(whole) : prepare_from(begin);
}

}  // namespace weft
