// From the engine thread to a session's strand: the events of one HTTP request, which may be
// several engine requests (one a prompt).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "engine/request.h"
#include "server/http/byte_budget.h"

namespace weft {

using PromptLogprobs = std::vector<TokenLogprob>;

struct EngineEvent {
  int32_t prompt_index = 0;
  std::variant<PromptLogprobs, PooledResult, PromptProgress, TokensEvent, FinishEvent> event;
};

// Push on the engine thread, the rest on the session's strand. When more than `max_pending_bytes`
// of generated tokens wait to be drained, because the client does not read, or more than a few and
// there is no memory for them, the queue overflows: it drops what it holds and whatever comes.
class EventQueue {
 public:
  // `wake` is called, on the pushing thread, when there is something to drain that there was not
  // before, or when the queue has just overflowed; it must not block.
  EventQueue(size_t max_pending_bytes, ByteBudget& budget,
             std::function<void(bool overflowed)> wake)
      : max_pending_bytes_(max_pending_bytes), wake_(std::move(wake)), hold_(budget) {}

  void Push(EngineEvent event);
  std::vector<EngineEvent> Drain();
  bool overflowed() const;
  // Nobody will drain any more: later events are dropped.
  void Close();

 private:
  // What any request may have waiting: it is part of what its exchange holds.
  static constexpr size_t kFreeBytes = 8 << 10;

  bool HasRoomFor(size_t cost_bytes);

  const size_t max_pending_bytes_;
  const std::function<void(bool overflowed)> wake_;
  mutable std::mutex mutex_;
  std::vector<EngineEvent> events_;
  size_t pending_bytes_ = 0;
  size_t drained_bytes_ = 0;  // by the last Drain: what was made of them may still be on its way
  std::optional<ByteBudget::Hold> hold_;  // of what is pending beyond kFreeBytes, until Close
  bool overflowed_ = false;
  bool closed_ = false;
};

// The sink of the engine request that serves one prompt.
class QueueSink : public TokenSink {
 public:
  QueueSink(std::shared_ptr<EventQueue> queue, int32_t prompt_index)
      : queue_(std::move(queue)), prompt_index_(prompt_index) {}
  void OnPromptLogprobs(std::vector<TokenLogprob> logprobs) override;
  void OnPooled(PooledResult result) override;
  void OnPromptProgress(PromptProgress progress) override;
  void OnTokens(TokensEvent event) override;
  void OnFinish(FinishEvent event) override;

 private:
  const std::shared_ptr<EventQueue> queue_;
  const int32_t prompt_index_;
};

}  // namespace weft
