// The answer of /v1/messages, put together from the engine's events.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/messages/messages_response.h"
#include "server/api/conversation/reply_stream.h"
#include "server/api/generation_answer.h"
#include "server/models/served_model.h"

namespace weft {

struct MessagesAnswerOptions {
  const ServedModel* model = nullptr;
  int64_t prompt_tokens = 0;  // a stream tells them before the first token
  bool stream = false;
  bool omits_thinking = false;     // see MessagesRequest
  std::string context_management;  // see MessagesResponse
  ReplySetup reply;
};

class MessagesAnswer : public GenerationAnswer {
 public:
  explicit MessagesAnswer(MessagesAnswerOptions options);

  void Begin(std::string_view request_id, int64_t created) override;
  std::string TakeStreamText() override;
  std::string WholeBody() override;
  std::string StreamError(const ApiError& error) const override;

 private:
  void OnPromptLogprobs(int32_t prompt_index, const PromptLogprobs& entries) override;
  void OnTokens(int32_t prompt_index, const TokensEvent& event) override;
  void OnFinish(int32_t prompt_index, const FinishEvent& event) override;

  // The first events of a stream, once it is known how much of the prompt the cache had.
  void BeginStream(int32_t cached_tokens);
  void AddDelta(ReplyDelta delta);
  void OpenBlock(MessagesBlock block);  // after closing the one that is open
  void CloseBlock();
  void AddEvent(std::string_view name, std::string_view json);

  const MessagesAnswerOptions options_;
  ReplyStream reply_;
  std::string request_id_;
  MessagesResponse response_;  // of a stream: content is the block that is open, alone
  bool stream_begun_ = false;
  bool block_open_ = false;
  int32_t block_count_ = 0;
  std::string events_;  // of a stream: not taken yet
};

}  // namespace weft
