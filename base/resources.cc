#include "base/resources.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <sched.h>
#include <string>
#include <unistd.h>

namespace weft {
namespace {

// This process's path below the mount of one cgroup controller ("" for v2), from /proc/self/cgroup,
// whose lines are "hierarchy:controllers:path".
std::optional<std::string> CgroupPath(const std::string& controller) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool matches = controller.empty()
                             ? controllers == ",,"
                             : controllers.find("," + controller + ",") != std::string::npos;
    if (matches) return line.substr(second + 1);
  }
  return std::nullopt;
}

// Calls visit(directory) for this process's cgroup and each of its ancestors up to the mount.
// Inside a container the path may name a place that is not mounted: the root of the mount is then
// the cgroup itself.
template <typename Visit>
void VisitCgroups(const std::string& mount, const std::string& controller, Visit visit) {
  std::string path = CgroupPath(controller).value_or("/");
  while (!path.empty() && path != "/") {
    visit(mount + path);
    path.resize(path.rfind('/'));
  }
  visit(mount);
}

void KeepSmallest(std::optional<double>& smallest, double value) {
  smallest = smallest ? std::min(*smallest, value) : value;
}

// Cores of CPU time per second that the cgroups allow.
std::optional<double> CgroupCpuQuota() {
  std::optional<double> quota;
  VisitCgroups("/sys/fs/cgroup", "", [&](const std::string& directory) {
    std::ifstream file(directory + "/cpu.max");  // "max 100000" or "150000 100000"
    double limit = 0;
    double period = 0;
    if (file >> limit >> period && period > 0) KeepSmallest(quota, limit / period);
  });
  VisitCgroups("/sys/fs/cgroup/cpu", "cpu", [&](const std::string& directory) {
    std::ifstream quota_file(directory + "/cpu.cfs_quota_us");  // -1: no limit
    std::ifstream period_file(directory + "/cpu.cfs_period_us");
    double limit = 0;
    double period = 0;
    if (quota_file >> limit && period_file >> period && limit > 0 && period > 0) {
      KeepSmallest(quota, limit / period);
    }
  });
  return quota;
}

std::optional<double> CgroupMemoryLimit() {
  std::optional<double> smallest;
  VisitCgroups("/sys/fs/cgroup", "", [&](const std::string& directory) {
    std::ifstream file(directory + "/memory.max");  // "max" or bytes
    double limit = 0;
    if (file >> limit) KeepSmallest(smallest, limit);
  });
  VisitCgroups("/sys/fs/cgroup/memory", "memory", [&](const std::string& directory) {
    std::ifstream file(directory + "/memory.limit_in_bytes");
    double limit = 0;
    if (file >> limit) KeepSmallest(smallest, limit);
  });
  return smallest;
}

}  // namespace

int AvailableCpuCount() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int count = sched_getaffinity(0, sizeof(mask), &mask) == 0
                  ? CPU_COUNT(&mask)
                  : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  if (const std::optional<double> quota = CgroupCpuQuota()) {
    count = std::min(count, static_cast<int>(std::ceil(*quota)));
  }
  return std::max(count, 1);
}

uint64_t AvailableMemoryBytes() {
  const uint64_t physical =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const std::optional<double> limit = CgroupMemoryLimit();
  return limit && *limit < static_cast<double>(physical) ? static_cast<uint64_t>(*limit) : physical;
}

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total_pages = 0;
  uint64_t resident_pages = 0;
  file >> total_pages >> resident_pages;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace weft
