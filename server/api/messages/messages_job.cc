#include "server/api/messages/messages_job.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "proto/messages/messages_request.h"
#include "proto/messages/messages_response.h"
#include "server/api/conversation/reply_job.h"
#include "server/api/messages/messages_answer.h"

namespace weft {
namespace {

// Carries out what the request says about its context.
ApiResult<AppliedEdits> EditContext(MessagesRequest& request, const PrepareContext& context) {
  if (!request.edits) return AppliedEdits();
  WEFT_ASSIGN_OR_RETURN(const ServedModel* const model,
                        FindGenerator(request.chat.model, context.models));
  return ApplyContextEdits(
      *request.edits, [&] { return CountReplyPrompt(request.chat, *model); },
      request.chat.messages);
}

}  // namespace

ApiResult<GenerationJob> PrepareMessages(std::string_view body, const PrepareContext& context) {
  ApiResult<MessagesRequest> request = ParseMessagesRequest(body, context.rules);
  if (!request) return tl::unexpected(std::move(request).error());
  WEFT_ASSIGN_OR_RETURN(const AppliedEdits applied, EditContext(*request, context));
  MessagesAnswerOptions answer;
  if (request->edits) answer.context_management = ToJson(applied.edits);
  ApiResult<GenerationJob> job =
      PrepareReply(request->chat, context, answer.reply, AnthropicContextWords);
  if (!job || job->excess_bytes > 0) return job;
  answer.model = job->model;
  answer.prompt_tokens = std::ssize(job->prompts.front());
  answer.stream = request->chat.stream;
  answer.omits_thinking = request->omits_thinking;
  job->answer = std::make_unique<MessagesAnswer>(std::move(answer));
  return job;
}

ApiResult<PostAnswer> AnswerCountTokens(std::string_view body, const PrepareContext& context) {
  ApiResult<MessagesRequest> request = ParseCountTokensRequest(body, context.rules);
  if (!request) return tl::unexpected(std::move(request).error());
  WEFT_ASSIGN_OR_RETURN(const ServedModel* const model,
                        FindGenerator(request->chat.model, context.models));
  WEFT_ASSIGN_OR_RETURN(const AppliedEdits applied, EditContext(*request, context));
  WEFT_ASSIGN_OR_RETURN(const int64_t count, CountReplyPrompt(request->chat, *model));
  std::optional<int64_t> original;
  if (request->edits) original = applied.edits.empty() ? count : applied.original_tokens;
  return PostAnswer{.body = CountTokensJson(count, original),
                    .unknown_field_count = request->chat.unknown_field_count};
}

}  // namespace weft
