#include "server/api/event_queue.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

// What an event costs while it waits, and about what its JSON will cost. Prompt logprobs come once,
// before the client could have been slow, and are bounded by the context: they are free; so is what
// is pooled, once a prompt.
size_t CostBytes(const EngineEvent& event) {
  constexpr size_t kEnvelopeBytes = 256;
  constexpr size_t kCandidateBytes = 32;
  if (std::holds_alternative<PromptProgress>(event.event)) return kEnvelopeBytes;
  const auto* tokens = std::get_if<TokensEvent>(&event.event);
  if (tokens == nullptr) return 0;
  size_t cost = kEnvelopeBytes + tokens->text.size() + tokens->tokens.size() * sizeof(TokenId);
  for (const TokenLogprob& logprob : tokens->logprobs) {
    cost += (1 + logprob.top.size()) * kCandidateBytes;
  }
  return cost;
}

}  // namespace

bool EventQueue::HasRoomFor(size_t cost_bytes) {
  if (events_.empty()) return true;  // whatever it takes: nobody was slow
  if (cost_bytes > max_pending_bytes_ - pending_bytes_) return false;
  const size_t pending = drained_bytes_ + pending_bytes_ + cost_bytes;
  return pending <= kFreeBytes || hold_->Resize(pending - kFreeBytes);
}

void EventQueue::Push(EngineEvent event) {
  const size_t cost = CostBytes(event);
  bool overflows = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || overflowed_) return;
    const bool was_empty = events_.empty();
    overflows = !HasRoomFor(cost);
    if (overflows) {
      overflowed_ = true;
      events_.clear();
      hold_.reset();
    } else {
      pending_bytes_ += std::min(cost, max_pending_bytes_ - pending_bytes_);
      events_.push_back(std::move(event));
      if (!was_empty) return;
    }
  }
  wake_(overflows);
}

std::vector<EngineEvent> EventQueue::Drain() {
  const std::lock_guard lock(mutex_);
  drained_bytes_ = std::exchange(pending_bytes_, 0);
  const size_t held = drained_bytes_ - std::min(drained_bytes_, kFreeBytes);
  if (hold_ && held < hold_->bytes()) hold_->Give(hold_->bytes() - held);
  return std::exchange(events_, {});
}

bool EventQueue::overflowed() const {
  const std::lock_guard lock(mutex_);
  return overflowed_;
}

void EventQueue::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  events_.clear();
  hold_.reset();
}

void QueueSink::OnPromptLogprobs(std::vector<TokenLogprob> logprobs) {
  queue_->Push({prompt_index_, std::move(logprobs)});
}

void QueueSink::OnPooled(PooledResult result) { queue_->Push({prompt_index_, std::move(result)}); }

void QueueSink::OnPromptProgress(PromptProgress progress) {
  queue_->Push({prompt_index_, progress});
}

void QueueSink::OnTokens(TokensEvent event) { queue_->Push({prompt_index_, std::move(event)}); }

void QueueSink::OnFinish(FinishEvent event) { queue_->Push({prompt_index_, std::move(event)}); }

}  // namespace weft
