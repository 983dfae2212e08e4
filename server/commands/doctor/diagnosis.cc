#include "server/commands/doctor/diagnosis.h"

#include <cmath>

#include <fmt/core.h>

#include "base/format_bytes.h"

namespace weft {
namespace {

constexpr uint64_t kFewOpenFiles = 4096;

class Diagnosis {
 public:
  void Good(std::string_view about, std::string text) { Add(FindingKind::kGood, about, text); }
  void Note(std::string_view about, std::string text) { Add(FindingKind::kNote, about, text); }
  void Problem(std::string_view about, std::string text) {
    Add(FindingKind::kProblem, about, text);
  }
  std::vector<Finding> Take() { return std::move(findings_); }

 private:
  void Add(FindingKind kind, std::string_view about, std::string& text) {
    findings_.push_back({kind, about, std::move(text)});
  }

  std::vector<Finding> findings_;
};

std::string ExtensionsOf(const CpuFeatures& cpu) {
  std::string names;
  const auto add = [&](bool has, std::string_view name) {
    if (has) names.append(names.empty() ? "" : ", ").append(name);
  };
  add(cpu.avx2_fma, "AVX2");
  add(cpu.avx_vnni, "AVX-VNNI");
  add(cpu.avx512, "AVX-512");
  add(cpu.avx512_vnni, "VNNI");
  add(cpu.avx512_bf16, "BF16");
  add(cpu.avx512_vbmi, "VBMI");
  add(cpu.amx_int8, "AMX-INT8");
  add(cpu.amx_bf16, "AMX-BF16");
  return names.empty() ? "none that help" : names;
}

void DiagnoseProcessor(const MachineFacts& facts, const CpuFeatures& cpu, Isa isa,
                       Diagnosis& diagnosis) {
  const std::string what =
      fmt::format("{} with {}; computes with {}",
                  facts.processor.empty() ? "a processor without a name" : facts.processor,
                  ExtensionsOf(cpu), NameOf(isa));
  if (!cpu.avx2_fma) {
    diagnosis.Problem("processor",
                      what +
                          ": without AVX2, FMA and F16C everything is computed one "
                          "number at a time; models want a processor of 2013 or later");
  } else if (cpu.avx512 && !cpu.avx512_vnni) {
    diagnosis.Note("processor", what + "; without VNNI, products take twice the instructions");
  } else {
    diagnosis.Good("processor", what);
  }
  if (facts.is_virtual) {
    diagnosis.Note("processor",
                   "a virtual machine: whether its CPUs are cores of its own, it cannot tell");
  }
  if (facts.governor == "powersave" && !facts.frequency_driver.ends_with("pstate") &&
      !facts.frequency_driver.ends_with("pstate-epp")) {
    diagnosis.Problem(
        "processor",
        "its frequency stays low (the governor powersave): `cpupower frequency-set -g "
        "performance` lets it rise");
  }
}

void DiagnoseCpus(const MachineFacts& facts, Diagnosis& diagnosis) {
  const int usable = facts.allowed_cpus;
  const std::string all =
      facts.cpus > usable ? fmt::format(" of {} that there are", facts.cpus) : std::string();
  if (facts.cpu_quota && *facts.cpu_quota < usable) {
    const double quota = *facts.cpu_quota;
    const bool is_whole = quota == std::floor(quota);
    const std::string what = fmt::format(
        "{} CPUs{}, with time for {:.2f} of them (the control group's quota)", usable, all, quota);
    if (is_whole) {
      diagnosis.Good("CPUs", what);
    } else {
      diagnosis.Problem(
          "CPUs", what +
                      ": a step ends with its slowest thread, which the quota halts; give it a "
                      "whole number of them");
    }
  } else {
    diagnosis.Good("CPUs", fmt::format("{} CPUs{}", usable, all));
  }
  if (facts.numa_nodes > 1) {
    diagnosis.Note("CPUs", fmt::format("on {} NUMA nodes; weights and threads are shared out over "
                                       "them",
                                       facts.numa_nodes));
  }
  if (facts.load > 0.5 * std::max(usable, 1)) {
    diagnosis.Problem(
        "CPUs", fmt::format("others use them: {:.1f} processes ran or waited in the last minute; "
                            "what is measured here, and served, is slower by what they take",
                            facts.load));
  }
}

void DiagnoseMemory(const MachineFacts& facts, Diagnosis& diagnosis) {
  std::string what = fmt::format("{}, of which {} are free", FormatBytes(facts.memory_bytes),
                                 FormatBytes(facts.free_memory_bytes));
  if (facts.memory_limit_bytes && *facts.memory_limit_bytes < facts.memory_bytes) {
    what += fmt::format("; the control group allows {}", FormatBytes(*facts.memory_limit_bytes));
  }
  diagnosis.Good("memory", what);
  if (facts.used_swap_bytes > facts.memory_bytes / 64) {
    diagnosis.Problem(
        "memory", fmt::format("{} are swapped out: weights that are read from a disk are read a "
                              "hundred times slower; serve less, or with --memory",
                              FormatBytes(facts.used_swap_bytes)));
  }
  if (facts.huge_pages == "never") {
    diagnosis.Problem(
        "huge pages",
        "turned off: reading weights takes more time; `echo madvise > "
        "/sys/kernel/mm/transparent_hugepage/enabled`, as root, turns them on for who "
        "asks");
  } else if (!facts.huge_pages.empty()) {
    diagnosis.Good("huge pages", fmt::format("on ({})", facts.huge_pages));
  }
}

}  // namespace

std::string_view NameOf(FindingKind kind) {
  switch (kind) {
    case FindingKind::kGood:
      return "good";
    case FindingKind::kNote:
      return "note";
    case FindingKind::kProblem:
      return "problem";
  }
  return "";
}

std::vector<Finding> Diagnose(const MachineFacts& facts, const CpuFeatures& cpu, Isa isa) {
  Diagnosis diagnosis;
  DiagnoseProcessor(facts, cpu, isa, diagnosis);
  DiagnoseCpus(facts, diagnosis);
  DiagnoseMemory(facts, diagnosis);
  if (facts.open_files < kFewOpenFiles) {
    diagnosis.Note("open files",
                   fmt::format("{} at most, and a connection takes one: `ulimit -n` raises it",
                               facts.open_files));
  } else {
    diagnosis.Good("open files", fmt::format("{} at most", facts.open_files));
  }
  return diagnosis.Take();
}

}  // namespace weft
