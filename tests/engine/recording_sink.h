// Keeps what a request hears, and notes every breach of the sink's contract.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/request.h"

namespace weft {

struct RecordedChoice {
  std::string text;
  std::vector<TokenId> tokens;
  std::vector<TokenLogprob> logprobs;
  std::vector<FinishEvent> finishes;  // one, in the end
  bool finished() const { return !finishes.empty(); }
};

// Called by the engine thread; tests read after WaitUntilFinished, or on the same thread.
class RecordingSink : public TokenSink {
 public:
  explicit RecordingSink(int32_t choice_count = 1) : choices_(static_cast<size_t>(choice_count)) {}

  void OnPromptLogprobs(std::vector<TokenLogprob> logprobs) override;
  void OnPooled(PooledResult result) override;
  void OnTokens(TokensEvent event) override;
  void OnFinish(FinishEvent event) override;

  void WaitUntilFinished();
  bool finished() const;
  const RecordedChoice& choice(size_t index = 0) const { return choices_[index]; }
  size_t choice_count() const { return choices_.size(); }
  const std::vector<TokenLogprob>& prompt_logprobs() const { return prompt_logprobs_; }
  // Empty: none came.
  const std::vector<float>& embedding() const { return pooled_ ? pooled_->values : kNoValues; }
  const std::optional<PooledResult>& pooled() const { return pooled_; }
  // What was wrong with the events so far; empty if nothing.
  std::string complaint() const;

 private:
  static inline const std::vector<float> kNoValues;

  void Complain(const std::string& what);

  mutable std::mutex mutex_;
  std::condition_variable last_event_;
  std::vector<RecordedChoice> choices_;
  std::vector<TokenLogprob> prompt_logprobs_;
  std::optional<PooledResult> pooled_;
  bool prompt_seen_ = false;
  bool last_seen_ = false;
  std::string complaint_;
};

}  // namespace weft
