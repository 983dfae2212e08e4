// A completion request made ready for the engine: model found, prompts tokenised, everything
// checked against the model. No sockets, no engine thread; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/request.h"
#include "proto/completion_request.h"
#include "server/served_model.h"

namespace weft {

struct TokenizedPrompt {
  std::vector<TokenId> tokens;
  std::string text;  // what echo gives back; empty without echo
};

struct CompletionJob {
  const ServedModel* model = nullptr;
  CompletionRequest request;  // its prompts are moved out
  std::vector<TokenizedPrompt> prompts;
  SamplingParams sampling;  // without the seed, if the request has none
};

// Everything between the body and Engine::Submit. May take long for a long body (law 5). `models`
// is not empty and outlives the job; its first is what a request without a model means.
ApiResult<CompletionJob> PrepareCompletion(std::string_view body,
                                           const std::vector<ServedModel>& models);

// 404 "model_not_found".
ApiError ModelNotFound(std::string_view id, const std::vector<ServedModel>& models);

}  // namespace weft
