// The answer of llama-server's /completion and /infill, put together from the engine's events.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/llama_server/llama_response.h"
#include "server/api/generation_answer.h"
#include "server/models/served_model.h"

namespace weft {

struct LlamaAnswerOptions {
  const ServedModel* model = nullptr;
  std::vector<std::string> prompts;    // a text each
  std::vector<int64_t> prompt_tokens;  // of each
  std::string settings;                // LlamaSettingsJson
  std::vector<std::string> response_fields;
  bool stream = false;
  bool returns_tokens = false;  // a stream always does
  bool timings_per_token = false;
  bool is_bounded = false;    // by what is asked for, and not by the context
  bool drops_output = false;  // only the prompt was to be read
};

class LlamaAnswer : public GenerationAnswer {
 public:
  explicit LlamaAnswer(LlamaAnswerOptions options);

  void Begin(std::string_view request_id, int64_t created) override;
  std::string TakeStreamText() override;
  std::string WholeBody() override;
  std::string StreamError(const ApiError& error) const override;

 private:
  // Of a prompt.
  struct State {
    IncrementalDecoder decoder;
    LlamaPiece whole;
    LlamaEnd end;
    int64_t predicted_tokens = 0;
  };

  void OnPromptLogprobs(int32_t prompt_index, const PromptLogprobs& entries) override;
  void OnProgress(int32_t prompt_index, const PromptProgress& progress) override;
  void OnTokens(int32_t prompt_index, const TokensEvent& event) override;
  void OnFinish(int32_t prompt_index, const FinishEvent& event) override;

  std::vector<LlamaProbs> ProbsOf(const TokensEvent& event) const;
  LlamaPiece BeginPiece(int32_t prompt_index) const;

  const LlamaAnswerOptions options_;
  std::vector<State> states_;
  std::string events_;  // of a stream: not taken yet
};

}  // namespace weft
