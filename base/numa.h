// The NUMA nodes that this process may compute on, and threads bound to them.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace weft {

struct NumaNode {
  int id = 0;             // the kernel's number
  std::vector<int> cpus;  // those that this process may use, ascending
};

// CPUs in the affinity mask of the calling thread, ascending; none where it cannot be read.
std::vector<int> AllowedCpus();

// The nodes that `allowed_cpus` (ascending) belong to, at least one, ascending, from a folder laid
// out as Linux's /sys/devices/system/node. One node with all of them where the folder is absent or
// does not say of every CPU which node it is on.
std::vector<NumaNode> NumaNodes(const std::string& directory, const std::vector<int>& allowed_cpus);

// Of this machine and process.
std::vector<NumaNode> NumaNodes();

// Keeps the calling thread on these CPUs from now on; advice: what cannot be done is not done.
void BindThisThread(std::span<const int> cpus);

// Keeps the calling thread on these CPUs for the life of the object; no CPUs: changes nothing.
class ScopedCpuBinding {
 public:
  explicit ScopedCpuBinding(std::span<const int> cpus);
  ~ScopedCpuBinding();
  ScopedCpuBinding(const ScopedCpuBinding&) = delete;
  ScopedCpuBinding& operator=(const ScopedCpuBinding&) = delete;

 private:
  std::vector<int> before_;
};

}  // namespace weft
