// POST /v1/responses/compact: a conversation that becomes a shorter one, and
// /v1/responses/input_tokens, which says how long one is. Include from .cc files only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/api_error.h"
#include "proto/responses/responses_request.h"
#include "proto/usage.h"

namespace weft {

// The body of a request to compact: that of one for a response, of which `model` must be there and
// no more than the conversation is read. Errors as ParseResponsesRequest's.
ApiResult<ResponsesRequest> ParseCompactionRequest(std::string_view body,
                                                   const RequestRules& rules = {});

struct CompactedConversation {
  std::string id;                 // "resp_..."
  int64_t created_at = 0;         // seconds since 1970
  std::vector<std::string> kept;  // items that stay as they are: a line of JSON each
  std::string item_id;            // "cmp_..."
  std::string summary;            // what the others have become
  Usage usage;
};

// One line of JSON.
std::string ToJson(const CompactedConversation& compacted);

// {"object":"response.input_tokens","input_tokens"}
std::string InputTokensJson(int64_t count);

}  // namespace weft
