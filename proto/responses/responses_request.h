// The body of POST /v1/responses, validated: every value is in its range, every default filled in.
// Include from .cc files only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/chat/chat_request.h"

namespace weft {

inline constexpr size_t kMaxMetadataPairs = 16;
inline constexpr size_t kMaxMetadataKeyBytes = 64;
inline constexpr size_t kMaxMetadataValueBytes = 512;

struct ResponsesRequest {
  // What the model is asked, as a chat would; without messages, which need the items that the
  // request refers to.
  ChatRequest chat;
  nlohmann::ordered_json input;  // see CheckInputItems
  std::optional<std::string> instructions;
  std::optional<std::string> previous_response_id;
  bool background = false;    // then neither streamed nor not stored
  std::optional<bool> store;  // absent: if the server stores responses
  // The members of the response object that repeat the request; "store" is the server's to add.
  nlohmann::ordered_json echo;
};

// Errors as ParseChatRequest's.
ApiResult<ResponsesRequest> ParseResponsesRequest(std::string_view body,
                                                  const RequestRules& rules = {});

}  // namespace weft
