// What decides how fast models are computed here, as the operating system shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace weft {

struct MachineFacts {
  std::string processor;  // its name; "" where it is not said
  bool is_virtual = false;
  int cpus = 0;                     // that are online
  int allowed_cpus = 0;             // of them for this process
  std::optional<double> cpu_quota;  // cores of CPU time, of the cgroup
  int numa_nodes = 1;
  std::string governor;  // of the first CPU's frequency; "": there is none
  std::string frequency_driver;
  double load = 0;  // processes that ran or waited, over the last minute

  uint64_t memory_bytes = 0;       // of the machine
  uint64_t free_memory_bytes = 0;  // that can be had without swapping
  uint64_t used_swap_bytes = 0;
  std::optional<uint64_t> memory_limit_bytes;  // of the cgroup
  std::string huge_pages;                      // "always", "madvise", "never"; "": not said
  uint64_t open_files = 0;                     // at most, of this process
};

// Where `root` is "/", this machine and process; tests put a folder of their own there, of which
// everything is read but what is of this process: the CPUs it may use and its open files. What is
// not there stays as it is above.
MachineFacts ReadMachineFacts(const std::string& root = "/");

}  // namespace weft
