// Turns the engine's events into the choices that the client sees.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "proto/api_error.h"
#include "proto/completion_response.h"
#include "server/completion_job.h"
#include "server/event_queue.h"

namespace weft {

// For the events of one CompletionJob, in the order they came; one thread.
class CompletionAssembler {
 public:
  // The job outlives the assembler.
  explicit CompletionAssembler(const CompletionJob& job);

  // Appends the pieces of choices that this event brings: text that is whole characters, the
  // logprobs of its tokens, a finish reason at the end. A piece without any of them is left out.
  void Consume(EngineEvent event, std::vector<CompletionChoice>& pieces);

  // Every choice of every prompt has ended.
  bool finished() const { return unfinished_choices_ == 0; }
  // Set as soon as a choice failed or was aborted: the request as a whole has no answer then.
  const std::optional<ApiError>& failure() const { return failure_; }
  const Usage& usage() const { return usage_; }
  int32_t choice_count() const { return static_cast<int32_t>(choices_.size()); }

 private:
  struct ChoiceState {
    IncrementalDecoder decoder;
    int64_t text_offset = 0;  // characters that began so far, echo included
    bool begun = false;       // echo is out
  };

  int32_t IndexOf(int32_t prompt_index, int32_t choice) const;
  CompletionChoice Begin(int32_t prompt_index, int32_t choice);
  void AddLogprobs(const std::vector<TokenLogprob>& entries, bool of_prompt, ChoiceState& state,
                   CompletionLogprobs& logprobs) const;
  void OnPromptLogprobs(int32_t prompt_index, const PromptLogprobs& entries,
                        std::vector<CompletionChoice>& pieces);
  void OnTokens(int32_t prompt_index, const TokensEvent& event,
                std::vector<CompletionChoice>& pieces);
  void OnFinish(int32_t prompt_index, const FinishEvent& event,
                std::vector<CompletionChoice>& pieces);

  const CompletionJob& job_;
  std::vector<ChoiceState> choices_;
  int32_t unfinished_choices_;
  std::optional<ApiError> failure_;
  Usage usage_;
};

// Adds a piece to the end of a whole choice.
void AppendPiece(CompletionChoice piece, CompletionChoice& whole);

}  // namespace weft
