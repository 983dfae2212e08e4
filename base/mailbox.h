// A queue from many threads to one. Once it is closed, ordinary messages are refused; urgent ones
// (abort, shutdown) never are. Who pushes bounds their number.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace weft {

template <typename Message>
class Mailbox {
 public:
  // False, and the message untouched, when the box is closed.
  [[nodiscard]] bool TryPush(Message&& message) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return false;
      messages_.push_back(std::move(message));
    }
    arrived_.notify_one();
    return true;
  }

  // TryPush refuses from now on. What it took before comes out ahead of any urgent message pushed
  // after this call.
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

  // For the few messages that must arrive.
  void PushUrgent(Message&& message) {
    {
      const std::lock_guard lock(mutex_);
      messages_.push_back(std::move(message));
    }
    arrived_.notify_one();
  }

  // All waiting messages, in order, without waiting. For the owner thread.
  std::vector<Message> Drain() {
    const std::lock_guard lock(mutex_);
    return std::exchange(messages_, {});
  }

  // The same, after sleeping until there is at least one.
  std::vector<Message> WaitAndDrain() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return !messages_.empty(); });
    return std::exchange(messages_, {});
  }

  // The same, after sleeping so long at most: none may have come.
  std::vector<Message> WaitAndDrain(std::chrono::milliseconds longest) {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, longest, [&] { return !messages_.empty(); });
    return std::exchange(messages_, {});
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Message> messages_;
  bool closed_ = false;
};

}  // namespace weft
