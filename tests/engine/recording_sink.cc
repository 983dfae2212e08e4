#include "tests/engine/recording_sink.h"

#include <algorithm>
#include <utility>

namespace weft {

void RecordingSink::Complain(const std::string& what) {
  if (complaint_.empty()) complaint_ = what;
}

void RecordingSink::OnPromptLogprobs(std::vector<TokenLogprob> logprobs) {
  const std::lock_guard lock(mutex_);
  if (prompt_seen_) Complain("prompt logprobs came twice");
  for (const RecordedChoice& choice : choices_) {
    if (!choice.tokens.empty() || choice.finished()) Complain("prompt logprobs came late");
  }
  prompt_seen_ = true;
  prompt_logprobs_ = std::move(logprobs);
}

void RecordingSink::OnPooled(PooledResult result) {
  const std::lock_guard lock(mutex_);
  if (pooled_) Complain("what was pooled came twice");
  if (choices_.front().finished()) Complain("what was pooled came after the finish event");
  pooled_ = std::move(result);
}

void RecordingSink::OnTokens(TokensEvent event) {
  const std::lock_guard lock(mutex_);
  RecordedChoice& choice = choices_.at(static_cast<size_t>(event.choice));
  if (choice.finished()) Complain("tokens came after the finish event");
  if (!event.logprobs.empty() && event.logprobs.size() != event.tokens.size())
    Complain("not one logprob a token");
  choice.text += event.text;
  choice.tokens.insert(choice.tokens.end(), event.tokens.begin(), event.tokens.end());
  choice.logprobs.insert(choice.logprobs.end(), event.logprobs.begin(), event.logprobs.end());
}

void RecordingSink::OnFinish(FinishEvent event) {
  const std::lock_guard lock(mutex_);
  RecordedChoice& choice = choices_.at(static_cast<size_t>(event.choice));
  if (choice.finished()) Complain("a choice finished twice");
  const size_t token_count = choice.tokens.size() + (event.stop_token ? 1 : 0);
  if (static_cast<size_t>(event.completion_tokens) != token_count)
    Complain("completion_tokens is not the number of tokens");
  choice.finishes.push_back(event);
  const bool all = std::all_of(choices_.begin(), choices_.end(),
                               [](const RecordedChoice& other) { return other.finished(); });
  if (event.last != all) Complain("`last` is not on the last finish event");
  last_seen_ = last_seen_ || event.last;
  last_event_.notify_all();
}

void RecordingSink::WaitUntilFinished() {
  std::unique_lock lock(mutex_);
  last_event_.wait(lock, [&] { return last_seen_; });
}

bool RecordingSink::finished() const {
  const std::lock_guard lock(mutex_);
  return last_seen_;
}

std::string RecordingSink::complaint() const {
  const std::lock_guard lock(mutex_);
  return complaint_;
}

}  // namespace weft
