// Which schedules a simulation runs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace weft {

// The one that WEFT_SIMULATION_SEED names, which is then the only one: what is asserted of many has
// no meaning.
std::optional<uint64_t> AskedSeed();

// 0 to `count` - 1: the same in every run.
std::vector<uint64_t> FixedSeeds(uint64_t count);

// As many that no run had before, or as many as WEFT_SIMULATION_FRESH says. The first is printed.
std::vector<uint64_t> FreshSeeds(uint64_t count);

}  // namespace weft
