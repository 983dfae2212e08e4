#include "loadtest/plan/random.h"

#include <cmath>

#include "base/exact_math.h"

namespace weft {

uint64_t MixSeed(uint64_t seed, uint64_t index) {
  uint64_t state = seed;
  state = NextRandom(state) ^ index;
  return NextRandom(state);
}

double Random::Uniform() { return static_cast<double>((NextRandom(state_) >> 11) + 1) * 0x1p-53; }

// The remainder's bias, count / 2^64, is nothing beside the counts of a load test.
uint64_t Random::Below(uint64_t count) { return NextRandom(state_) % count; }

double Random::Exponential() { return -exact::Log(Uniform()); }

double Random::Normal() {
  // The polar method (Marsaglia, Bray 1964).
  while (true) {
    const double x = 2 * Uniform() - 1;
    const double y = 2 * Uniform() - 1;
    const double square = x * x + y * y;
    if (square > 0 && square < 1) return x * std::sqrt(-2 * exact::Log(square) / square);
  }
}

double Random::Gamma(double shape) {
  // Marsaglia, Tsang: A Simple Method for Generating Gamma Variables (2000); below 1 by their
  // Gamma(shape) = Gamma(shape + 1) U^(1 / shape).
  if (shape < 1) {
    const double boost = exact::Exp(exact::Log(Uniform()) / shape);
    return Gamma(shape + 1) * boost;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = Normal();
    const double cube_root = 1 + c * x;
    if (cube_root <= 0) continue;
    const double v = cube_root * cube_root * cube_root;
    if (exact::Log(Uniform()) < 0.5 * x * x + d - d * v + d * exact::Log(v)) return d * v;
  }
}

}  // namespace weft
