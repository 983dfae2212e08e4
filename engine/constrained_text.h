// A sequence's text under its request's constraint, and what may come next in it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/sampler.h"
#include "engine/token_constraint.h"

namespace weft {

// What does not change from text to text of a request.
struct TextRules {
  std::shared_ptr<const TokenConstraint> constraint;
  std::vector<TokenId> ends;  // tokens that end the text
  int64_t vocab_size = 0;
  bool always_masks = false;  // where nearly all tokens may come, too: for what ranks them
  bool finishes = false;      // it must come to its end in time: see Settle
};

// The engine's thread owns it; what may come next is found out by one call of Fill, on any thread,
// while the model computes the step behind which it is wanted. Held by a shared pointer, because
// that call may go on when its sequence has ended.
class ConstrainedText {
 public:
  explicit ConstrainedText(std::shared_ptr<const TextRules> rules);
  ConstrainedText(const ConstrainedText&) = delete;
  ConstrainedText& operator=(const ConstrainedText&) = delete;
  // What a sequence holds for it besides the matcher: the mask, and parked a row of logits.
  static int64_t Bytes(int64_t vocab_size);

  // Engine thread.
  // Another text that has come as far as this one, which is ready.
  std::shared_ptr<ConstrainedText> Fork() const;
  // The token has come; the text was ready, and is not any more.
  void Append(TokenId token);
  // Whether Fill has to be called: announce it with BeginFill.
  bool needs_fill() const { return state_.load(std::memory_order_relaxed) == State::kStale; }
  void BeginFill() { state_.store(State::kFilling, std::memory_order_relaxed); }
  // False: it is ready. Otherwise Fill will return true.
  bool Await();

  // True: somebody awaits it. The text is ready.
  bool Fill() noexcept;

  // What Fill has found out may be asked for, by one thread at a time, until Append.
  bool is_ready() const { return state_.load(std::memory_order_acquire) == State::kReady; }
  // A limit of the matcher's, or an exception.
  const std::optional<Error>& error() const { return error_; }
  // Nothing but an end may come.
  bool is_complete() const { return is_complete_; }
  TokenRule rule() const;
  // What comes where `token` was drawn under the rule, and `left` more may come, an end among them:
  // the token, unless the text must finish and no way to an end is known that is short enough
  // behind it; then the next one of the way that is known. nullopt: the text ends here.
  std::optional<TokenId> Settle(TokenId token, int32_t left);
  const std::vector<TokenId>& ends() const { return rules_->ends; }
  // How long Fill took; 0: it made no mask.
  std::chrono::nanoseconds mask_time() const { return mask_time_; }

 private:
  enum class State : uint8_t { kStale, kFilling, kAwaited, kReady };

  Result<void> FindNext();
  bool IsEnd(TokenId token) const;
  // Of a mask that the matcher has filled.
  void AddEnds();

  const std::shared_ptr<const TextRules> rules_;
  std::unique_ptr<TokenMatcher> matcher_;  // nullptr: the text has not begun
  std::optional<TokenId> appended_;        // which the matcher has not seen yet
  std::vector<uint32_t> mask_;             // empty: there has been none yet
  bool has_mask_ = false;
  bool may_end_ = false;
  bool is_complete_ = false;
  std::optional<Error> error_;
  std::chrono::nanoseconds mask_time_{0};
  std::atomic<State> state_ = State::kStale;
};

}  // namespace weft
