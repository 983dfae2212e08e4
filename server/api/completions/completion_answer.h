// The answer of /v1/completions, put together from the engine's events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/completions/completion_response.h"
#include "server/api/generation_answer.h"
#include "server/models/served_model.h"

namespace weft {

struct CompletionAnswerOptions {
  const ServedModel* model = nullptr;
  int32_t choice_count = 1;                // generated a prompt
  int32_t returned_count = 1;              // of those: the likeliest; if fewer, not in a stream
  std::vector<std::string> echoes;         // a prompt: what the text begins with
  std::vector<int64_t> prompt_tokens;      // a prompt
  bool echo = false;                       // the log probabilities begin with the prompt's too
  LeadingSpaces leading_spaces = {};       // of an answer that continues no prompt
  std::optional<int32_t> logprobs;         // so many of the likeliest besides
  std::optional<int32_t> prompt_logprobs;  // not in a stream
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;
  bool timings = false;
};

class CompletionAnswer : public GenerationAnswer {
 public:
  explicit CompletionAnswer(CompletionAnswerOptions options);

  void Begin(std::string_view request_id, int64_t created) override;
  std::string TakeStreamText() override;
  std::string WholeBody() override;

 private:
  struct ChoiceState {
    IncrementalDecoder decoder = {};
    LeadingSpaces token_spaces = {};  // the decoder's, of tokens, whose text may come later
    int64_t text_offset = 0;          // characters that began so far, echo included
    bool begun = false;               // echo is out
    double mean_logprob = 0;          // once finished
    int64_t token_count = 0;
  };
  struct Piece {
    CompletionChoice choice;
    UsageSoFar usage;
  };

  int32_t IndexOf(int32_t prompt_index, int32_t choice) const;
  void Emit(CompletionChoice piece);
  CompletionChoice BeginPiece(int32_t prompt_index, int32_t choice);
  void AddLogprobs(const std::vector<TokenLogprob>& entries, bool of_prompt, ChoiceState& state,
                   CompletionLogprobs& logprobs) const;
  std::vector<std::vector<PromptLogprob>> PromptLogprobsOf(const PromptLogprobs& entries) const;
  // Leaves the likeliest choices of each prompt, best first.
  void KeepBest();
  void OnPromptLogprobs(int32_t prompt_index, const PromptLogprobs& entries) override;
  void OnTokens(int32_t prompt_index, const TokensEvent& event) override;
  void OnFinish(int32_t prompt_index, const FinishEvent& event) override;

  const CompletionAnswerOptions options_;
  std::vector<ChoiceState> choices_;
  // Of a stream: text that is whole characters, the logprobs of its tokens, a finish reason at the
  // end.
  std::vector<Piece> pieces_;
  CompletionResponse response_;  // what every chunk, or the whole answer, has in common
};

}  // namespace weft
