// The answer of Ollama's /api/chat and /api/generate, put together from the engine's events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/ollama/ollama_response.h"
#include "server/api/conversation/reply_stream.h"
#include "server/api/generation_answer.h"
#include "server/models/served_model.h"

namespace weft {

struct OllamaAnswerOptions {
  const ServedModel* model = nullptr;
  bool is_generate = false;
  bool stream = false;
  bool logprobs = false;
  ReplySetup reply;
  bool is_raw = false;      // the text as it is: nothing in it is reasoning or a call
  std::string load_reason;  // not empty: nothing is generated, and this is why
};

class OllamaAnswer : public GenerationAnswer {
 public:
  explicit OllamaAnswer(OllamaAnswerOptions options);

  void Begin(std::string_view request_id, int64_t created) override;
  std::string TakeStreamText() override;
  std::string WholeBody() override;
  std::string_view StreamType() const override { return "application/x-ndjson"; }
  std::string StreamError(const ApiError& error) const override;

 private:
  void OnPromptLogprobs(int32_t prompt_index, const PromptLogprobs& entries) override;
  void OnTokens(int32_t prompt_index, const TokensEvent& event) override;
  void OnFinish(int32_t prompt_index, const FinishEvent& event) override;

  void AddDelta(ReplyDelta delta);
  void CloseCall();
  // Of a stream: what there is becomes a line.
  void AddLine();
  std::string LastLine();

  const OllamaAnswerOptions options_;
  ReplyStream reply_;
  IncrementalDecoder raw_decoder_;
  std::string request_id_;
  OllamaReply part_;                       // of a stream: what has not become a line yet
  std::optional<ChatToolCall> open_call_;  // whose arguments are not all there
  std::string end_reason_;
  std::string lines_;  // of a stream: not taken yet
};

}  // namespace weft
