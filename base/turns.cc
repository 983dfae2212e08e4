#include "base/turns.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weft {

Turns::Turns(double patient_share, Clock clock)
    : patient_share_(patient_share), clock_(std::move(clock)) {
  // So that a step allocates nothing, unless there are more engines.
  constexpr size_t kManyEngines = 16;
  urgent_.reserve(kManyEngines);
  patient_.reserve(kManyEngines);
}

void Turns::Take(Urgency urgency) {
  std::unique_lock lock(mutex_);
  Waiter waiter{.urgency = urgency};
  if (urgency == Urgency::kUrgent) waiter.since = clock_();
  Waiters& queue = urgency == Urgency::kUrgent ? urgent_ : patient_;
  queue.push_back(&waiter);
  if (!is_taken_) Pass();
  Wait(waiter, lock);
}

void Turns::Give() {
  const std::lock_guard lock(mutex_);
  WEFT_CHECK(is_taken_);
  if (urgency_ == Urgency::kUrgent) {
    const auto now = clock_();
    const std::chrono::duration<double> share = patient_share_ * (now - taken_at_);
    const auto part = std::chrono::duration_cast<std::chrono::nanoseconds>(share);
    // Of one part at most: there is some of every second one.
    patient_until_ = now + part - std::min(part, std::exchange(overdrawn_, {}));
  }
  wanted_.store(false, std::memory_order_relaxed);
  is_taken_ = false;
  Pass();
}

void Turns::Yield() {
  std::unique_lock lock(mutex_);
  WEFT_CHECK(is_taken_ && urgency_ == Urgency::kPatient);
  Waiter waiter{.urgency = Urgency::kPatient};
  patient_.insert(patient_.begin(), &waiter);
  wanted_.store(false, std::memory_order_relaxed);
  is_taken_ = false;
  Pass();
  Wait(waiter, lock);
}

size_t Turns::waiting_count() {
  const std::lock_guard lock(mutex_);
  return urgent_.size() + patient_.size();
}

void Turns::Pass() {
  const bool is_patients_part = urgency_ == Urgency::kUrgent && !patient_.empty();
  Waiters& queue = urgent_.empty() || is_patients_part ? patient_ : urgent_;
  if (queue.empty()) return;
  Waiter& next = *queue.front();
  queue.erase(queue.begin());
  is_taken_ = true;
  if (next.urgency == Urgency::kUrgent) {
    taken_at_ = clock_();
    const auto due = std::max(patient_until_, next.since);
    if (urgency_ == Urgency::kPatient) overdrawn_ = std::max(taken_at_ - due, {});
  }
  urgency_ = next.urgency;
  next.has_turn = true;
  next.changed.notify_one();
  // It looks to the time of a patient turn.
  if (urgency_ == Urgency::kPatient && !urgent_.empty()) urgent_.front()->changed.notify_one();
}

bool Turns::MayInterrupt(const Waiter& waiter) const {
  return urgency_ == Urgency::kPatient && !urgent_.empty() && urgent_.front() == &waiter;
}

void Turns::Wait(Waiter& waiter, std::unique_lock<std::mutex>& lock) {
  while (!waiter.has_turn) {
    if (!MayInterrupt(waiter) || wanted()) {
      waiter.changed.wait(lock);
      continue;
    }
    const auto now = clock_();
    if (now >= patient_until_) {
      wanted_.store(true, std::memory_order_relaxed);
    } else {
      waiter.changed.wait_for(lock, patient_until_ - now);
    }
  }
}

}  // namespace weft
