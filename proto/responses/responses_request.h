// The body of POST /v1/responses, validated: every value is in its range, every default filled in.
// Include from .cc files only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/chat/chat_request.h"
#include "proto/responses/response_tools.h"

namespace weft {

struct ResponsesRequest {
  // What the model is asked, as a chat would; without messages, which need the items that the
  // request refers to.
  ChatRequest chat;
  nlohmann::ordered_json input;  // see CheckInputItems
  ResponseTools tools;
  std::optional<std::string> instructions;
  std::optional<std::string> previous_response_id;
  bool generates = true;         // otherwise all is made ready, and nothing comes out
  bool truncates = false;        // the oldest items go where they do not fit the context
  bool seals_reasoning = false;  // reasoning has its encrypted_content
  bool background = false;       // then neither streamed nor not stored
  std::optional<bool> store;     // absent: if the server stores responses
  // The members of the response object that repeat the request; "store" is the server's to add.
  nlohmann::ordered_json echo;
};

// Errors as ParseChatRequest's.
ApiResult<ResponsesRequest> ParseResponsesRequest(std::string_view body,
                                                  const RequestRules& rules = {});
// The same of a message over a WebSocket: {"type":"response.create"}, with the fields of a body but
// `stream` and `background`, and `generate`.
ApiResult<ResponsesRequest> ParseSocketRequest(std::string_view message,
                                               const RequestRules& rules = {});
// The same of a body that ParseOrderedBody has read.
ApiResult<ResponsesRequest> ReadResponsesRequest(nlohmann::ordered_json body,
                                                 const RequestRules& rules);

}  // namespace weft
