// What this process may really use, as opposed to what the machine has.
#pragma once

#include <cstdint>

namespace weft {

// Cores: the affinity mask, cut by the cgroup's CPU quota (v2 cpu.max, v1 cfs_quota), rounded up;
// >= 1.
int AvailableCpuCount();

// Bytes: physical memory, cut by the cgroup's limit (v2 memory.max, v1 memory.limit_in_bytes).
uint64_t AvailableMemoryBytes();

// Bytes that this process has resident now (0 where /proc is absent).
uint64_t ResidentBytes();

}  // namespace weft
