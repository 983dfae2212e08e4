// Where the time of steps goes, by operator.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>

namespace weft {

// The stages of a forward pass. What is fused with a stage counts with it: conversion to operands
// with what writes them, and in a mixture of experts the norm before the router with the router.
enum class Operator {
  kEmbed,
  kNorm,
  kQkv,
  kRope,  // bias, norm and rotation of heads, and writing K and V to the cache
  kAttention,
  kAttentionOutput,
  kRouter,
  kGateUp,  // with the activation
  kDown,
  kCombine,  // adding up the experts' outputs
  kHead,     // with the norm before it
};
inline constexpr size_t kOperatorCount = 11;
std::string_view NameOf(Operator of);

// The time that steps took, added up. Used by the thread that computes them.
struct StepProfile {
  std::array<std::chrono::nanoseconds, kOperatorCount> times = {};

  std::chrono::nanoseconds& of(Operator which) { return times[static_cast<size_t>(which)]; }
  std::chrono::nanoseconds of(Operator which) const { return times[static_cast<size_t>(which)]; }
};

// Counts the time from construction, or from the last Next, for an operator. Without a profile it
// does nothing, not even look at the clock.
class OperatorTimer {
 public:
  OperatorTimer(StepProfile* profile, Operator current) : profile_(profile), current_(current) {
    if (profile_ != nullptr) start_ = Clock::now();
  }
  OperatorTimer(const OperatorTimer&) = delete;
  OperatorTimer& operator=(const OperatorTimer&) = delete;
  ~OperatorTimer() { Stop(); }

  void Next(Operator next) {
    Stop();
    current_ = next;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void Stop() {
    if (profile_ == nullptr) return;
    const Clock::time_point now = Clock::now();
    profile_->of(current_) += now - start_;
    start_ = now;
  }

  StepProfile* profile_;
  Operator current_;
  Clock::time_point start_;
};

}  // namespace weft
