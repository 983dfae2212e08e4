// The random numbers of load plans: the same on every machine, which the distributions of <random>
// are not (they are the library's choice).
#pragma once

#include <cstdint>

namespace weft {

// A seed for part `index` of what `seed` decides; different parts are independent of each other.
uint64_t MixSeed(uint64_t seed, uint64_t index);

// SplitMix64 (Steele, Lea, Flood 2014).
inline uint64_t NextRandom(uint64_t& state) {
  state += 0x9E3779B97F4A7C15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  double Uniform();                // in (0, 1]
  uint64_t Below(uint64_t count);  // in [0, count); count > 0
  double Exponential();            // mean 1
  double Normal();                 // mean 0, deviation 1
  double Gamma(double shape);      // mean `shape`, deviation sqrt(shape); shape > 0

 private:
  uint64_t state_;
};

}  // namespace weft
