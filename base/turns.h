// Who computes, where several engines share the cores: one at a time, and those that streams wait
// for soon.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace weft {

// Thread-safe. An urgent turn comes before patient ones, and makes the patient one that runs yield;
// but behind an urgent turn a patient one that waits has its part of the time: so long as
// `patient_share` of what the urgent one took. What it takes longer than that until it yields is
// left out of its next part. Who is equally urgent comes in order.
class Turns {
 public:
  enum class Urgency { kPatient, kUrgent };
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  // A half: with patient turns about, urgent ones come by half as far apart again.
  static constexpr double kPatientShare = 0.5;

  explicit Turns(double patient_share = kPatientShare,
                 Clock clock = std::chrono::steady_clock::now);
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Waits for a turn. Throws std::bad_alloc, without one.
  void Take(Urgency urgency);
  void Give();

  // Whether the patient turn that runs should yield soon. Any thread; costs next to nothing.
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
  // Gives the turn, which is patient, and waits for its continuation.
  void Yield();

  size_t waiting_count();

 private:
  struct Waiter {
    Urgency urgency;
    bool has_turn = false;
    std::chrono::steady_clock::time_point since = {};  // of an urgent one
    std::condition_variable changed = {};
  };
  using Waiters = std::vector<Waiter*>;  // the first one is next

  void Wait(Waiter& waiter, std::unique_lock<std::mutex>& lock);
  // Nobody has the turn: it is the next one's.
  void Pass();
  bool MayInterrupt(const Waiter& waiter) const;

  const double patient_share_;
  const Clock clock_;
  std::atomic<bool> wanted_{false};

  std::mutex mutex_;  // guards what follows
  bool is_taken_ = false;
  Urgency urgency_ = Urgency::kPatient;  // of the turn that is taken, or was last
  Waiters urgent_;
  Waiters patient_;
  std::chrono::steady_clock::time_point taken_at_{};
  std::chrono::steady_clock::time_point
      patient_until_{};                   // before it, a patient turn is left alone
  std::chrono::nanoseconds overdrawn_{};  // how long urgent ones have waited beyond that
};

// A turn for the life of this.
class ScopedTurn {
 public:
  ScopedTurn(Turns& turns, Turns::Urgency urgency) : turns_(turns) { turns_.Take(urgency); }
  ~ScopedTurn() { turns_.Give(); }
  ScopedTurn(const ScopedTurn&) = delete;
  ScopedTurn& operator=(const ScopedTurn&) = delete;

 private:
  Turns& turns_;
};

}  // namespace weft
