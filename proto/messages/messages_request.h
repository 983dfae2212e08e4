// The bodies of Anthropic's POST /v1/messages and /v1/messages/count_tokens, validated and put into
// the terms of chats. Include from .cc files only: the conversation is JSON.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "proto/api_error.h"
#include "proto/chat/chat_request.h"
#include "proto/messages/context_edits.h"

namespace weft {

struct MessagesRequest {
  // The system prompt is its first message; results of tools are messages of the role tool, a
  // call's input its arguments, thinking its message's reasoning. A last message of the assistant
  // is to be continued.
  ChatRequest chat;
  bool omits_thinking = false;  // blocks of thinking come without their text
  // To be carried out on the conversation; absent: the request does not speak of it.
  std::optional<std::vector<ContextEdit>> edits;
};

// Errors name the field by its path in the client's body.
ApiResult<MessagesRequest> ParseMessagesRequest(std::string_view body,
                                                const RequestRules& rules = {});
// The same without `max_tokens`.
ApiResult<MessagesRequest> ParseCountTokensRequest(std::string_view body,
                                                   const RequestRules& rules = {});

}  // namespace weft
