// The answer of /v1/chat/completions, put together from the engine's events.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proto/chat/chat_response.h"
#include "server/api/conversation/reply_stream.h"
#include "server/api/generation_answer.h"
#include "server/models/served_model.h"

namespace weft {

struct ChatAnswerOptions {
  const ServedModel* model = nullptr;
  int32_t choice_count = 1;
  bool logprobs = false;
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;
  int64_t prompt_tokens = 0;
  bool timings = false;
  ReplySetup reply;
  bool names_function = false;  // the client has chosen the function: finish_reason is "stop" then
};

class ChatAnswer : public GenerationAnswer {
 public:
  explicit ChatAnswer(ChatAnswerOptions options);

  void Begin(std::string_view request_id, int64_t created) override;
  std::string TakeStreamText() override;
  std::string WholeBody() override;

 private:
  struct ChoiceState {
    explicit ChoiceState(const ReplySetup& setup) : reply(setup) {}
    ReplyStream reply;
    bool begun = false;
    std::vector<ChatLogprob> logprobs;  // of a stream: not sent yet
    int64_t token_count = 0;
  };
  struct Piece {
    ChatChoice choice;
    UsageSoFar usage;
    std::optional<PromptProgressNumbers> progress = {};
  };

  void OnPromptLogprobs(int32_t prompt_index, const PromptLogprobs& entries) override;
  void OnProgress(int32_t prompt_index, const PromptProgress& progress) override;
  void OnTokens(int32_t prompt_index, const TokensEvent& event) override;
  void OnFinish(int32_t prompt_index, const FinishEvent& event) override;

  ChoiceState& BegunChoice(int32_t choice);
  void AddDeltas(int32_t choice, std::vector<ReplyDelta> deltas);
  ChatToolCall MakeCall(int32_t choice, ReplyDelta delta) const;
  void AddToWhole(ChatChoice& whole, ChatMessageDelta delta) const;
  void Emit(ChatChoice piece);
  void AddPiece(ChatChoice piece);

  const ChatAnswerOptions options_;
  std::vector<std::unique_ptr<ChoiceState>> choices_;
  std::vector<Piece> pieces_;  // of a stream
  std::string request_id_;
  ChatResponse response_;  // what every chunk, or the whole answer, has in common
};

}  // namespace weft
