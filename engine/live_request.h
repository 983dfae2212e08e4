// An accepted request from Submit to its terminal event. The only place that talks to its sink, so
// that every choice gets exactly one FinishEvent. Owned and used by the engine thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/beam_search.h"
#include "engine/model_runner.h"
#include "engine/pooler.h"
#include "engine/request.h"
#include "engine/sequence.h"

namespace weft {

// Why a choice ends; the fields of FinishEvent that depend on it.
struct Ending {
  FinishReason reason = FinishReason::kStop;
  std::string stop_string;
  std::optional<TokenId> stop_token;
  Error error;
};

struct FinishedChoice;

class LiveRequest {
 public:
  // Makes a sequence for each choice; the first has the prompt, the others await it.
  // `end_tokens` are the model's.
  LiveRequest(Request request, uint64_t arrival, BlockPools& pools, int64_t vocab_size,
              const std::vector<TokenId>& end_tokens);

  RequestId id() const { return request_.id; }
  const SamplingParams& sampling() const { return request_.sampling; }
  std::optional<std::chrono::steady_clock::time_point> deadline() const {
    return request_.deadline;
  }
  Sequence& first_choice() { return *choices_.front(); }
  const std::vector<std::unique_ptr<Sequence>>& choices() const { return choices_; }
  bool finished() const { return unfinished_count_ == 0; }
  RequestTimes& times() { return times_; }

  // Tokens that may not be sampled as output token `output_position`: `banned`, which the model
  // never generates, and before min_tokens what would end the choice.
  std::vector<TokenId> BannedTokens(int32_t output_position, std::vector<TokenId> banned) const;
  // Whether a sampled token ends a choice.
  bool IsEnd(TokenId token) const;

  // Collects the logprob of the next prompt token.
  void AddPromptLogprob(TokenLogprob logprob);
  // Hands the collected ones over, the first time it is called.
  void EmitPromptLogprobs();

  // Where the request wants to know: how far its prompt is, if that is further than it was told.
  void EmitProgress(int32_t processed_tokens, RequestTimes::Time now);

  const SharedCounts& shared_counts() const { return request_.shared_counts; }
  // nullptr: it generates.
  const PoolingParams* pooling() const { return request_.pooling ? &*request_.pooling : nullptr; }
  // Of the hidden states, where an embedding or labels are made of them; otherwise nullptr.
  Pooler* pooler() { return pooler_ ? &*pooler_ : nullptr; }
  // What `runner` makes of the pooled hidden states; all are there.
  Result<PooledResult> FromHiddenStates(ModelRunner& runner);
  void EmitPooled(PooledResult result) { request_.sink->OnPooled(std::move(result)); }

  // What a token adds to this request's text. `token_bytes`: what it adds to everybody's; may be
  // empty.
  std::string_view TextOf(TokenId token, const TokenBytes& token_bytes) const;

  // Appends a sampled token that does not end the choice and emits it. If it completes a stop
  // string or is the last one allowed, the answer says how the choice ends: call Finish.
  std::optional<Ending> AppendToken(Sequence& sequence, TokenId token, std::string_view bytes,
                                    std::optional<TokenLogprob> logprob);
  // The terminal event of a choice, after the text that was held back; `report` gets an entry.
  // Nothing, if the choice has had its event. The sequence is out of the scheduler.
  void Finish(Sequence& sequence, Ending ending, RequestTimes::Time now,
              std::vector<FinishedChoice>& report);

  // nullptr: no beam search.
  BeamSearch* beam_search() { return beam_search_ ? &*beam_search_ : nullptr; }
  const BeamSearch* beam_search() const { return beam_search_ ? &*beam_search_ : nullptr; }
  const std::vector<Sequence*>& beams() const { return beams_; }
  // Emits the best texts and their terminal events; `report` gets an entry for each. All sequences
  // are out of the scheduler.
  void FinishBeams(const std::function<std::string_view(TokenId)>& token_bytes,
                   RequestTimes::Time now, std::vector<FinishedChoice>& report);

  bool queued = true;  // has not been in a step yet
  bool noted = false;  // the engine knows that it has finished

 private:
  void EmitFinish(FinishEvent event, RequestTimes::Time now, std::vector<FinishedChoice>& report);

  Request request_;
  std::vector<TokenId> ends_;  // tokens that end a choice
  RequestTimes times_;
  std::vector<std::unique_ptr<Sequence>> choices_;  // beams, where beams are searched
  std::optional<BeamSearch> beam_search_;
  std::optional<Pooler> pooler_;
  std::vector<Sequence*> beams_;
  std::vector<bool> ended_;  // a choice: its terminal event is out
  int32_t unfinished_count_ = 0;
  std::vector<TokenLogprob> prompt_logprobs_;
  bool prompt_logprobs_emitted_ = false;
  int32_t progress_ = -1;  // what was emitted last; -1: nothing yet
};

}  // namespace weft
