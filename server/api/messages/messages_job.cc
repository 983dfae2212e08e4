#include "server/api/messages/messages_job.h"

#include <memory>
#include <string>
#include <utility>

#include "proto/messages/messages_request.h"
#include "proto/messages/messages_response.h"
#include "server/api/conversation/reply_job.h"
#include "server/api/messages/messages_answer.h"
#include "server/api/prompt_tokens.h"

namespace weft {

ApiResult<GenerationJob> PrepareMessages(std::string_view body, const PrepareContext& context) {
  const ApiResult<MessagesRequest> request = ParseMessagesRequest(body, context.rules);
  if (!request) return tl::unexpected(request.error());
  MessagesAnswerOptions answer;
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
  const ApiResult<MessagesRequest> request = ParseCountTokensRequest(body, context.rules);
  if (!request) return tl::unexpected(request.error());
  const ApiResult<const ServedModel*> model = FindGenerator(request->chat.model, context.models);
  if (!model) return tl::unexpected(model.error());
  ReplySetup setup;
  const ApiResult<std::string> prompt = RenderReplyPrompt(request->chat, **model, setup);
  if (!prompt) return tl::unexpected(prompt.error());
  WEFT_ASSIGN_OR_RETURN(
      const std::vector<TokenId> tokens,
      EncodeText(*(*model)->tokenizer, *prompt,
                 {.add_special_tokens = false, .parse_special_tokens = true}, "messages"));
  return PostAnswer{.body = CountTokensJson(std::ssize(tokens)),
                    .unknown_field_count = request->chat.unknown_field_count};
}

}  // namespace weft
