#include "tests/engine/simulation_seeds.h"

#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>

namespace weft {

std::optional<uint64_t> AskedSeed() {
  const char* const asked = std::getenv("WEFT_SIMULATION_SEED");
  return asked == nullptr ? std::nullopt : std::optional(std::strtoull(asked, nullptr, 10));
}

std::vector<uint64_t> FixedSeeds(uint64_t count) {
  if (const std::optional<uint64_t> asked = AskedSeed()) return {*asked};
  std::vector<uint64_t> seeds(count);
  std::iota(seeds.begin(), seeds.end(), 0);
  return seeds;
}

std::vector<uint64_t> FreshSeeds(uint64_t count) {
  if (AskedSeed()) return {};
  if (const char* const asked = std::getenv("WEFT_SIMULATION_FRESH")) {
    count = std::strtoull(asked, nullptr, 10);
  }
  std::random_device device;
  const uint64_t first = (uint64_t{1} << 63) + (uint64_t{device()} << 30);
  std::cout << "fresh seeds: " << count << " from " << first << std::endl;
  std::vector<uint64_t> seeds(count);
  std::iota(seeds.begin(), seeds.end(), first);
  return seeds;
}

}  // namespace weft
