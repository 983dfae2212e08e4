// POST /v1/chat/completions and its /input_tokens: from the body to the engine, or to a number.
#pragma once

#include <string_view>

#include "server/api/generation_job.h"
#include "server/api/post_answer.h"

namespace weft {

// A PrepareFunction.
ApiResult<GenerationJob> PrepareChat(std::string_view body, const PrepareContext& context);

// An AnswerFunction: how many tokens the prompt has.
ApiResult<PostAnswer> AnswerChatInputTokens(std::string_view body, const PrepareContext& context);

}  // namespace weft
