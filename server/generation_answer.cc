#include "server/generation_answer.h"

#include "proto/sse.h"

namespace weft {
namespace {

ApiError FailureOf(const FinishEvent& event) {
  ApiError error;
  if (event.reason == FinishReason::kFailed && event.error.code == ErrorCode::kInvalidArgument) {
    error.code = "nothing_to_sample";
    error.message = event.error.message;
    return error;
  }
  error.type = "server_error";
  if (event.reason == FinishReason::kAborted) {
    error.status = 503;
    error.code = "request_aborted";
    error.message = "the server stopped this request before it was done; send it again";
  } else {
    error.status = 500;
    error.code = "generation_failed";
    error.message = event.error.message.empty() ? "the generation failed" : event.error.message;
  }
  return error;
}

}  // namespace

void GenerationAnswer::Consume(EngineEvent event) {
  if (const auto* logprobs = std::get_if<PromptLogprobs>(&event.event)) {
    OnPromptLogprobs(event.prompt_index, *logprobs);
    return;
  }
  if (const auto* embedding = std::get_if<Embedding>(&event.event)) {
    OnEmbedding(event.prompt_index, *embedding);
    return;
  }
  if (const auto* tokens = std::get_if<TokensEvent>(&event.event)) {
    OnTokens(event.prompt_index, *tokens);
    return;
  }
  const auto& finish = std::get<FinishEvent>(event.event);
  --unfinished_choices_;
  usage_.completion_tokens += finish.completion_tokens;
  if (finish.choice == 0) {  // the choices of a prompt share it
    usage_.prompt_tokens += finish.prompt_tokens;
    usage_.cached_tokens += finish.cached_tokens;
  }
  if (finish.reason == FinishReason::kAborted || finish.reason == FinishReason::kFailed) {
    if (!failure_) failure_ = FailureOf(finish);
    return;
  }
  OnFinish(event.prompt_index, finish);
}

std::string GenerationAnswer::StreamError(const ApiError& error) const {
  return SseEvent(ToJson(error));
}

}  // namespace weft
