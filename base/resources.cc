#include "base/resources.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <string>
#include <unistd.h>

#include "base/numa.h"

namespace weft {
namespace {

// This process's path below the mount of one cgroup controller ("" for v2), from lines of the form
// "hierarchy:controllers:path".
std::optional<std::string> CgroupPath(const std::string& membership_file,
                                      const std::string& controller) {
  std::ifstream file(membership_file);
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
// Inside a container the path may name a place that is not mounted: the mount's root is then the
// cgroup itself.
template <typename Visit>
void VisitCgroups(const CgroupFiles& files, const std::string& controller, Visit visit) {
  const std::string mount = controller.empty() ? files.mount : files.mount + "/" + controller;
  std::string path = CgroupPath(files.membership, controller).value_or("/");
  while (!path.empty() && path != "/") {
    visit(mount + path);
    path.resize(path.rfind('/'));
  }
  visit(mount);
}

template <typename T>
void KeepSmallest(std::optional<T>& smallest, T value) {
  smallest = smallest ? std::min(*smallest, value) : value;
}

}  // namespace

std::optional<double> CgroupCpuQuota(const CgroupFiles& files) {
  std::optional<double> quota;
  VisitCgroups(files, "", [&](const std::string& directory) {
    std::ifstream file(directory + "/cpu.max");  // "max 100000" or "150000 100000"
    double limit = 0;
    double period = 0;
    if (file >> limit >> period && limit > 0 && period > 0) KeepSmallest(quota, limit / period);
  });
  VisitCgroups(files, "cpu", [&](const std::string& directory) {
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

std::optional<uint64_t> CgroupMemoryLimit(const CgroupFiles& files) {
  std::optional<uint64_t> smallest;
  const auto read = [&](const std::string& path) {
    std::ifstream file(path);  // bytes, or "max"
    uint64_t limit = 0;
    if (file >> limit) KeepSmallest(smallest, limit);
  };
  VisitCgroups(files, "", [&](const std::string& directory) { read(directory + "/memory.max"); });
  VisitCgroups(files, "memory",
               [&](const std::string& directory) { read(directory + "/memory.limit_in_bytes"); });
  return smallest;
}

int AvailableCpuCount() {
  auto count = static_cast<int>(AllowedCpus().size());
  if (count == 0) count = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  if (const std::optional<double> quota = CgroupCpuQuota({})) {
    count = std::min(count, static_cast<int>(std::ceil(*quota)));
  }
  return std::max(count, 1);
}

uint64_t AvailableMemoryBytes() {
  const uint64_t physical =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min(physical, CgroupMemoryLimit({}).value_or(physical));
}

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total_pages = 0;
  uint64_t resident_pages = 0;
  file >> total_pages >> resident_pages;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace weft
