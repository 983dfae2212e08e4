// From a conversation to the engine: what every endpoint that holds conversations does once it has
// read its body. Include from .cc files only: the conversation is JSON.
#pragma once

#include "proto/chat/chat_request.h"
#include "server/api/conversation/reply_stream.h"
#include "server/api/generation_job.h"

namespace weft {

// The text that the model goes on with; `setup` is how to read what it writes. Errors are 400: no
// template, or one that does not take the conversation.
ApiResult<std::string> RenderReplyPrompt(const ChatRequest& request, const ServedModel& model,
                                         ReplySetup& setup);

// The tokens of that text.
ApiResult<int64_t> CountReplyPrompt(const ChatRequest& request, const ServedModel& model);

// What the request says of log probabilities; the job knows how many tokens may come.
void SetReplyLogprobs(const ChatRequest& request, GenerationJob& job);

// All of the job but its answer; `setup` is what the answer reads the replies with.
// Errors name the fields as the request calls them (ChatRequest::messages_path); `words` are what
// the endpoint says of a conversation that does not fit.
ApiResult<GenerationJob> PrepareReply(const ChatRequest& request, const PrepareContext& context,
                                      ReplySetup& setup, ContextWords words = OpenAiContextWords);

}  // namespace weft
