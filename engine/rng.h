// Random bits that are a pure function of what they are for. Nothing is ever "the next number", so
// a draw does not depend on how often anybody drew before: the same seed gives the same text in any
// company, after preemption and under speculation.
#pragma once

#include <array>
#include <cstdint>

namespace weft {

// What a number is drawn for; numbers of different purposes are independent.
enum class RandomPurpose : uint32_t { kSampleToken = 0, kXtc = 1, kSampleAgain = 2 };

struct RandomKey {
  uint64_t seed = 0;      // SamplingParams::seed
  uint32_t choice = 0;    // of the request
  uint32_t position = 0;  // of the token in the output, from 0
  RandomPurpose purpose = RandomPurpose::kSampleToken;
};

using PhiloxCounter = std::array<uint32_t, 4>;

// Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC11).
constexpr PhiloxCounter Philox4x32(PhiloxCounter counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(product1),
        static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

// Uniform in [0, 1), a multiple of 2^-53.
constexpr double RandomUniform(const RandomKey& key) {
  const PhiloxCounter bits =
      Philox4x32({key.position, key.choice, static_cast<uint32_t>(key.purpose), 0},
                 static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32));
  const uint64_t word = uint64_t{bits[0]} << 32 | bits[1];
  return static_cast<double>(word >> 11) * 0x1p-53;
}

}  // namespace weft
