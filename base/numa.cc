#include "base/numa.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <sched.h>
#include <string_view>
#include <utility>

namespace weft {
namespace {

// Linux is built for 8192 at most; numbers from there on are refused.
constexpr int kMaxCpus = 8192;
using CpuMask = std::array<cpu_set_t, kMaxCpus / CPU_SETSIZE>;

// "0-3,8,10-11" as its numbers; nullopt for anything else. Numbers of nodes are written like those
// of CPUs.
std::optional<std::vector<int>> ParseList(std::string_view text) {
  const auto take_number = [&text]() -> std::optional<int> {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0 || number >= kMaxCpus) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return number;
  };
  const auto take = [&text](char expected) {
    if (text.empty() || text.front() != expected) return false;
    text.remove_prefix(1);
    return true;
  };
  std::vector<int> numbers;
  if (text.empty()) return numbers;  // a node of memory alone
  do {
    const std::optional<int> first = take_number();
    const std::optional<int> last = first && take('-') ? take_number() : first;
    if (!last || *last < *first || (!numbers.empty() && *first <= numbers.back())) {
      return std::nullopt;
    }
    for (int number = *first; number <= *last; ++number) numbers.push_back(number);
  } while (take(','));
  if (!text.empty()) return std::nullopt;
  return numbers;
}

std::optional<std::vector<int>> ReadList(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || (!std::getline(file, line) && !file.eof())) return std::nullopt;
  return ParseList(line);
}

// nullopt: not every CPU's node can be told.
std::optional<std::vector<NumaNode>> ReadNodes(const std::string& directory,
                                               const std::vector<int>& allowed_cpus) {
  const std::optional<std::vector<int>> ids = ReadList(directory + "/online");
  if (!ids) return std::nullopt;
  std::vector<NumaNode> nodes;
  for (const int id : *ids) {
    const auto cpus = ReadList(directory + "/node" + std::to_string(id) + "/cpulist");
    if (!cpus) return std::nullopt;
    NumaNode node{id, {}};
    std::set_intersection(cpus->begin(), cpus->end(), allowed_cpus.begin(), allowed_cpus.end(),
                          std::back_inserter(node.cpus));
    if (!node.cpus.empty()) nodes.push_back(std::move(node));
  }
  // Every CPU is on one node, and on no other.
  std::vector<int> seen;
  for (const NumaNode& node : nodes) seen.insert(seen.end(), node.cpus.begin(), node.cpus.end());
  std::sort(seen.begin(), seen.end());
  if (nodes.empty() || seen != allowed_cpus) return std::nullopt;
  return nodes;
}

}  // namespace

std::vector<int> AllowedCpus() {
  CpuMask mask = {};
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(mask), mask.data()) != 0) return cpus;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (CPU_ISSET_S(cpu, sizeof(mask), mask.data())) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<NumaNode> NumaNodes(const std::string& directory,
                                const std::vector<int>& allowed_cpus) {
  return ReadNodes(directory, allowed_cpus)
      .value_or(std::vector<NumaNode>{NumaNode{0, allowed_cpus}});
}

std::vector<NumaNode> NumaNodes() { return NumaNodes("/sys/devices/system/node", AllowedCpus()); }

void BindThisThread(std::span<const int> cpus) {
  CpuMask mask = {};
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < kMaxCpus) CPU_SET_S(cpu, sizeof(mask), mask.data());
  }
  // Fails where none of them exists or may be used: the thread then stays as it was.
  static_cast<void>(sched_setaffinity(0, sizeof(mask), mask.data()));
}

ScopedCpuBinding::ScopedCpuBinding(std::span<const int> cpus) {
  if (cpus.empty()) return;
  before_ = AllowedCpus();
  BindThisThread(cpus);
}

ScopedCpuBinding::~ScopedCpuBinding() {
  if (!before_.empty()) BindThisThread(before_);
}

}  // namespace weft
