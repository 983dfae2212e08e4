#include "server/commands/doctor/machine_facts.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string_view>

#include <sys/resource.h>

#include "base/ascii.h"
#include "base/numa.h"
#include "base/resources.h"

namespace weft {
namespace {

constexpr size_t kMaxFileBytes = 1 << 20;

// "": it is not there.
std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxFileBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

std::string LineOf(const std::string& path) {
  const std::string text = TextOf(path);
  return std::string(Trimmed(std::string_view(text).substr(0, text.find('\n')), kAsciiSpace));
}

// What stands behind "name:" in a file of such lines, the first of them; "": there is none.
std::string_view ValueOf(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    if (Trimmed(line.substr(0, colon), kAsciiSpace) == name)
      return Trimmed(line.substr(colon + 1), kAsciiSpace);
  }
  return {};
}

// Of "16384 kB".
uint64_t KibibytesOf(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number << 10U;
}

int CountWords(std::string_view text, std::string_view word) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    count += at == 0 || text[at - 1] == '\n' ? 1 : 0;
  }
  return count;
}

bool HasWord(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  if (at == std::string_view::npos) return false;
  const bool begins = at == 0 || text[at - 1] == ' ';
  const size_t end = at + word.size();
  return begins && (end == text.size() || text[end] == ' ');
}

// "madvise" of "always [madvise] never".
std::string ChosenOf(std::string_view text) {
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return "";
  return std::string(text.substr(open + 1, close - open - 1));
}

}  // namespace

MachineFacts ReadMachineFacts(const std::string& root) {
  MachineFacts facts;
  const std::string processors = TextOf(root + "/proc/cpuinfo");
  facts.processor = ValueOf(processors, "model name");
  facts.is_virtual = HasWord(ValueOf(processors, "flags"), "hypervisor");
  facts.cpus = CountWords(processors, "processor\t");
  facts.allowed_cpus = static_cast<int>(AllowedCpus().size());
  const CgroupFiles cgroup = {.mount = root + "/sys/fs/cgroup",
                              .membership = root + "/proc/self/cgroup"};
  facts.cpu_quota = CgroupCpuQuota(cgroup);
  facts.memory_limit_bytes = CgroupMemoryLimit(cgroup);
  facts.numa_nodes =
      static_cast<int>(NumaNodes(root + "/sys/devices/system/node", AllowedCpus()).size());
  const std::string frequency = root + "/sys/devices/system/cpu/cpu0/cpufreq/";
  facts.governor = LineOf(frequency + "scaling_governor");
  facts.frequency_driver = LineOf(frequency + "scaling_driver");
  const std::string load = LineOf(root + "/proc/loadavg");
  std::from_chars(load.data(), load.data() + load.size(), facts.load);
  const std::string memory = TextOf(root + "/proc/meminfo");
  facts.memory_bytes = KibibytesOf(ValueOf(memory, "MemTotal"));
  facts.free_memory_bytes = KibibytesOf(ValueOf(memory, "MemAvailable"));
  const uint64_t swap = KibibytesOf(ValueOf(memory, "SwapTotal"));
  facts.used_swap_bytes = swap - std::min(swap, KibibytesOf(ValueOf(memory, "SwapFree")));
  facts.huge_pages = ChosenOf(LineOf(root + "/sys/kernel/mm/transparent_hugepage/enabled"));
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) facts.open_files = files.rlim_cur;
  return facts;
}

}  // namespace weft
