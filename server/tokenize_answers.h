// POST /tokenize, /detokenize and /apply-template.
#pragma once

#include <string_view>

#include "server/generation_job.h"
#include "server/post_answer.h"

namespace weft {

// AnswerFunctions.
ApiResult<PostAnswer> AnswerTokenize(std::string_view body, const PrepareContext& context);
ApiResult<PostAnswer> AnswerDetokenize(std::string_view body, const PrepareContext& context);
ApiResult<PostAnswer> AnswerApplyTemplate(std::string_view body, const PrepareContext& context);

}  // namespace weft
