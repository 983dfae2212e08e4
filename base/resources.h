// What this process may really use, as opposed to what the machine has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace weft {

// Where the kernel shows cgroups; tests put a folder of their own there.
struct CgroupFiles {
  std::string mount = "/sys/fs/cgroup";
  std::string membership = "/proc/self/cgroup";
};

// The tightest limit of this process's cgroup and its ancestors, v2 or v1; nullopt: none.
std::optional<double> CgroupCpuQuota(const CgroupFiles& files);       // cores of CPU time
std::optional<uint64_t> CgroupMemoryLimit(const CgroupFiles& files);  // bytes

// Cores: the affinity mask, cut by the cgroup's CPU quota (v2 cpu.max, v1 cfs_quota), rounded up;
// >= 1.
int AvailableCpuCount();

// Bytes: physical memory, cut by the cgroup's limit (v2 memory.max, v1 memory.limit_in_bytes).
uint64_t AvailableMemoryBytes();

// Bytes that this process has resident now (0 where /proc is absent).
uint64_t ResidentBytes();

}  // namespace weft
