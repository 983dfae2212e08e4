// How fast requests leave the queue while it stands.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

namespace weft {

// Of times in which nobody waited nothing is learnt: then requests leave as they come. What was
// measured fades over some ten seconds in which the queue stands, and not while it does not.
class DrainRate {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // One thread, in the order of the times. `left`: requests that left the queue since the last
  // call; `stands`: some wait for others now.
  void Add(Time now, int32_t left, bool stands);

  // Requests a second; any thread. nullopt: none has left a queue that stood.
  std::optional<double> per_second() const;

 private:
  std::optional<Time> stands_since_;  // the last call
  double left_ = 0;                   // both faded
  double seconds_ = 0;
  std::atomic<double> per_second_{0};
};

}  // namespace weft
