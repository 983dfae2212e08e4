// How a chat model is asked a question with few possible answers, and by which tokens it answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/decisions/decision_request.h"
#include "server/models/served_model.h"

namespace weft {

// How possible answers begin: "Yes" and "No", or letters for the options, from "A".
std::vector<std::string> AnswerWords(const DecisionQuestion& question);

// The conversation with the question at its end, as the model's template renders it. Errors: 400,
// those of RenderReplyPrompt.
ApiResult<std::string> DecisionPrompt(const DecisionRequest& request,
                                      const DecisionQuestion& question, const ServedModel& model);

// The token by which a reply to this prompt begins that says `word`. Errors: 400 at 'model', of a
// tokenizer that joins it to the prompt.
ApiResult<TokenId> AnswerToken(std::string_view prompt, const std::string& word,
                               const ServedModel& model);

}  // namespace weft
