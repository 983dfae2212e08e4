// POST /v1/responses, .../compact and .../input_tokens: from the body to the engine, or the answer.
#pragma once

#include <string_view>

#include "server/api/generation_job.h"
#include "server/api/post_answer.h"

namespace weft {

// A PrepareFunction.
ApiResult<GenerationJob> PrepareResponse(std::string_view body, const PrepareContext& context);
// The same for a message of a WebSocket, {"type":"response.create",...}.
ApiResult<GenerationJob> PrepareSocketResponse(std::string_view body,
                                               const PrepareContext& context);
// The same: the model writes a summary of the conversation.
ApiResult<GenerationJob> PrepareCompaction(std::string_view body, const PrepareContext& context);
// An AnswerFunction: the tokens of what PrepareResponse would ask the model.
ApiResult<PostAnswer> AnswerInputTokens(std::string_view body, const PrepareContext& context);

}  // namespace weft
