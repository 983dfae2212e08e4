// Numbers that nobody needs to guess or repeat: ids, seeds, jitter.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft {

// Splitmix64 (Steele, Lea, Flood 2014) from where the system's source of randomness says: no number
// comes twice. Any thread.
class RandomSequence {
 public:
  RandomSequence();
  uint64_t Next();

 private:
  std::atomic<uint64_t> state_;
};

}  // namespace weft
