#include "engine/constrained_text.h"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "base/check.h"
#include "engine/internal_error.h"

namespace weft {

ConstrainedText::ConstrainedText(std::shared_ptr<const TextRules> rules)
    : rules_(std::move(rules)) {}

int64_t ConstrainedText::Bytes(int64_t vocab_size) {
  constexpr int64_t kLogitBytes = sizeof(float);
  return static_cast<int64_t>(TokenMaskWords(vocab_size) * sizeof(uint32_t)) +
         vocab_size * kLogitBytes;
}

std::shared_ptr<ConstrainedText> ConstrainedText::Fork() const {
  WEFT_CHECK(is_ready() && matcher_ != nullptr);
  auto fork = std::make_shared<ConstrainedText>(rules_);
  fork->matcher_ = matcher_->Clone();
  return fork;
}

void ConstrainedText::Append(TokenId token) {
  WEFT_CHECK(is_ready() || (needs_fill() && matcher_ != nullptr && !appended_));
  appended_ = token;
  state_.store(State::kStale, std::memory_order_relaxed);
}

bool ConstrainedText::Await() {
  State expected = State::kFilling;
  return state_.compare_exchange_strong(expected, State::kAwaited, std::memory_order_acq_rel) ||
         expected == State::kAwaited;
}

bool ConstrainedText::Fill() noexcept {
  try {
    if (const Result<void> found = FindNext(); !found) error_ = found.error();
  } catch (const std::exception& exception) {
    error_ = InternalError(exception.what());
  }
  return state_.exchange(State::kReady, std::memory_order_acq_rel) == State::kAwaited;
}

Result<void> ConstrainedText::FindNext() {
  const auto started = std::chrono::steady_clock::now();
  if (matcher_ == nullptr) {
    matcher_ = rules_->constraint->NewMatcher();
    if (rules_->finishes) WEFT_RETURN_IF_ERROR(matcher_->FindWayOut(rules_->ends));
  }
  if (appended_) WEFT_RETURN_IF_ERROR(matcher_->Accept(*std::exchange(appended_, std::nullopt)));
  may_end_ = matcher_->MayEnd();
  has_mask_ = rules_->always_masks || matcher_->IsNarrow();
  is_complete_ = false;
  mask_time_ = {};
  if (!has_mask_) return {};
  mask_.assign(TokenMaskWords(rules_->vocab_size), 0);
  WEFT_RETURN_IF_ERROR(matcher_->FillMask(mask_));
  AddEnds();
  mask_time_ = std::chrono::steady_clock::now() - started;
  return {};
}

void ConstrainedText::AddEnds() {
  for (const TokenId end : rules_->ends) SetInMask(mask_, end, false);
  is_complete_ = may_end_ && std::ranges::all_of(mask_, [](uint32_t word) { return word == 0; });
  for (const TokenId end : rules_->ends) SetInMask(mask_, end, may_end_);
}

TokenRule ConstrainedText::rule() const {
  if (has_mask_) return {.mask = mask_, .allows = {}};
  return {.mask = {}, .allows = [this](TokenId token) {
            return IsEnd(token) ? may_end_ : matcher_->Allows(token);
          }};
}

bool ConstrainedText::IsEnd(TokenId token) const {
  return std::ranges::find(rules_->ends, token) != rules_->ends.end();
}

std::optional<TokenId> ConstrainedText::Settle(TokenId token, int32_t left) {
  if (!rules_->finishes || IsEnd(token)) return token;
  // Behind the token and the way the text ends, which takes one more.
  const int32_t most = left - 2;
  if (most >= 0 && matcher_->LeadsOut(token, most)) return token;
  const std::span<const TokenId> way = matcher_->way_out();
  return way.empty() ? std::nullopt : std::optional(way.front());
}

}  // namespace weft
