// From a conversation to the engine: what every endpoint that holds conversations does once it has
// read its body. Include from .cc files only: the conversation is JSON.
#pragma once

#include "proto/chat_request.h"
#include "server/generation_job.h"
#include "server/reply_stream.h"

namespace weft {

// All of the job but its answer and `stream`; `setup` is what the answer reads the replies with.
// Errors name the fields as the request calls them (ChatRequest::messages_path).
ApiResult<GenerationJob> PrepareReply(const ChatRequest& request, const PrepareContext& context,
                                      ReplySetup& setup);

}  // namespace weft
