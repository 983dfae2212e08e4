// The conversation of a request to /v1/responses, from its items to a job. Include from .cc files
// only: items are JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/responses/response_tools.h"
#include "server/api/conversation/reply_stream.h"
#include "server/api/generation_job.h"
#include "server/api/responses/response_store.h"

namespace weft {

struct ResponseConversation {
  std::vector<nlohmann::ordered_json> items;  // in the order of their time
  size_t history_count = 0;                   // of them: those before the request
  std::optional<std::string> instructions;
  const ResponseTools* tools = nullptr;
};

ResponseConversation ConversationOf(const StoredItems& history, const StoredItems& input);

// The messages of all of it. Errors as MessagesOfItems'.
ApiResult<nlohmann::ordered_json> MessagesOf(const ResponseConversation& conversation);

// All of the job but its answer, as PrepareReply, whose errors it has besides those of the items.
// `chat` is the request without its messages. The conversation is the same afterwards.
ApiResult<GenerationJob> PrepareConversation(ResponseConversation& conversation, ChatRequest& chat,
                                             const PrepareContext& context, ReplySetup& setup);

// The same; where the conversation does not fit the context, its oldest turns are left out, as few
// as can be: a turn is a user's message and what follows it. Messages of the system and the
// developer that stand first stay.
ApiResult<GenerationJob> PrepareTruncated(ResponseConversation& conversation, ChatRequest& chat,
                                          const PrepareContext& context, ReplySetup& setup);

}  // namespace weft
