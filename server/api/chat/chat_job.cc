#include "server/api/chat/chat_job.h"

#include <memory>
#include <utility>

#include "base/result.h"
#include "proto/chat/chat_request.h"
#include "proto/responses/compaction.h"
#include "server/api/chat/chat_answer.h"
#include "server/api/conversation/reply_job.h"

namespace weft {

ApiResult<GenerationJob> PrepareChat(std::string_view body, const PrepareContext& context) {
  const ApiResult<ChatRequest> request = ParseChatRequest(body, context.rules);
  if (!request) return tl::unexpected(request.error());
  ChatAnswerOptions answer{
      .model = nullptr,
      .choice_count = request->n,
      .logprobs = request->logprobs,
      .stream = request->stream,
      .include_usage = request->include_usage,
      .continuous_usage = request->continuous_usage,
      .timings = request->timings,
      .reply = {},
      .names_function = request->tool_choice.kind == ToolChoiceKind::kFunction};
  ApiResult<GenerationJob> job = PrepareReply(*request, context, answer.reply);
  if (!job || job->excess_bytes > 0) return job;
  answer.model = job->model;
  answer.prompt_tokens = std::ssize(job->prompts.front());
  job->logprobs.is_streamed = job->stream;
  job->reports_progress = job->stream && request->returns_progress;
  job->answer = std::make_unique<ChatAnswer>(std::move(answer));
  return job;
}

ApiResult<PostAnswer> AnswerChatInputTokens(std::string_view body, const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(const ChatRequest request, ParseChatRequest(body, context.rules));
  WEFT_ASSIGN_OR_RETURN(const ServedModel* const model,
                        FindGenerator(request.model, context.models));
  WEFT_ASSIGN_OR_RETURN(const int64_t count, CountReplyPrompt(request, *model));
  return PostAnswer{.body = InputTokensJson(count),
                    .unknown_field_count = request.unknown_field_count};
}

}  // namespace weft
