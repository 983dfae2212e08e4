// What the random numbers of a plan are for. Each purpose has seeds of its own, so that a plan's
// prompts stay what they are when, say, its arrivals are drawn another way.
#pragma once

#include <cstdint>

#include "loadtest/plan/random.h"

namespace weft {

// Part of every plan: new ones go to the end.
enum class Purpose : uint64_t {
  kArrivals,
  kLengths,     // by conversation
  kPrompts,     // by request
  kPrefixes,    // by profile and prefix
  kBehaviours,  // by request
  kBlocks,      // by hash of a trace's block
};

inline uint64_t SeedOf(uint64_t plan_seed, Purpose purpose, uint64_t index = 0) {
  return MixSeed(MixSeed(plan_seed, static_cast<uint64_t>(purpose)), index);
}

}  // namespace weft
