#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/commands/doctor/diagnosis.h"
#include "server/commands/doctor/machine_facts.h"

namespace weft {
namespace {

using testing::HasSubstr;

class MachineFactsTest : public testing::Test {
 protected:
  MachineFactsTest() : root_(testing::TempDir() + "/machine") {
    std::filesystem::remove_all(root_);
  }
  ~MachineFactsTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = root_ + "/" + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }

  const std::string root_;
};

TEST_F(MachineFactsTest, AreReadWhereTheyAre) {
  Write("proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Quick 9000\nflags\t\t: fpu hypervisor avx2\n\n"
        "processor\t: 1\nmodel name\t: Quick 9000\nflags\t\t: fpu hypervisor avx2\n");
  Write("proc/loadavg", "1.25 0.50 0.25 1/100 7\n");
  Write("proc/meminfo",
        "MemTotal:       16777216 kB\nMemAvailable:    8388608 kB\nSwapTotal:       2048 kB\n"
        "SwapFree:        1024 kB\n");
  Write("proc/self/cgroup", "0::/box\n");
  Write("sys/fs/cgroup/box/cpu.max", "150000 100000\n");
  Write("sys/fs/cgroup/box/memory.max", "1073741824\n");
  Write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  Write("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "acpi-cpufreq\n");
  Write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  const MachineFacts facts = ReadMachineFacts(root_);
  EXPECT_EQ(facts.processor, "Quick 9000");
  EXPECT_TRUE(facts.is_virtual);
  EXPECT_EQ(facts.cpus, 2);
  EXPECT_GE(facts.allowed_cpus, 1);
  EXPECT_EQ(facts.cpu_quota, 1.5);
  EXPECT_EQ(facts.numa_nodes, 1);
  EXPECT_EQ(facts.governor, "powersave");
  EXPECT_EQ(facts.frequency_driver, "acpi-cpufreq");
  EXPECT_EQ(facts.load, 1.25);
  EXPECT_EQ(facts.memory_bytes, 16ULL << 30);
  EXPECT_EQ(facts.free_memory_bytes, 8ULL << 30);
  EXPECT_EQ(facts.used_swap_bytes, 1ULL << 20);
  EXPECT_EQ(facts.memory_limit_bytes, 1ULL << 30);
  EXPECT_EQ(facts.huge_pages, "madvise");
  EXPECT_GT(facts.open_files, 0U);
}

TEST_F(MachineFactsTest, NothingIsNoCrash) {
  Write("proc/meminfo", "MemTotal:\nSwapFree: 12 kB\nnonsense");
  Write("sys/kernel/mm/transparent_hugepage/enabled", "]always[\n");
  const MachineFacts facts = ReadMachineFacts(root_);
  EXPECT_EQ(facts.processor, "");
  EXPECT_EQ(facts.cpus, 0);
  EXPECT_EQ(facts.cpu_quota, std::nullopt);
  EXPECT_EQ(facts.memory_bytes, 0U);
  EXPECT_EQ(facts.used_swap_bytes, 0U);
  EXPECT_EQ(facts.huge_pages, "");
}

MachineFacts GoodFacts() {
  MachineFacts facts;
  facts.processor = "Quick 9000";
  facts.cpus = 8;
  facts.allowed_cpus = 8;
  facts.memory_bytes = 16ULL << 30;
  facts.free_memory_bytes = 8ULL << 30;
  facts.huge_pages = "madvise";
  facts.open_files = 1 << 20;
  return facts;
}

CpuFeatures GoodCpu() {
  CpuFeatures cpu;
  cpu.avx2_fma = true;
  cpu.avx512 = true;
  cpu.avx512_vnni = true;
  return cpu;
}

// The texts of those of a kind, one a line.
std::string TextsOf(FindingKind kind, const std::vector<Finding>& findings) {
  std::string texts;
  for (const Finding& finding : findings) {
    if (finding.kind == kind) texts += finding.text + "\n";
  }
  return texts;
}

TEST(Diagnosis, AGoodMachineHasNoProblems) {
  const std::vector<Finding> findings = Diagnose(GoodFacts(), GoodCpu(), Isa::kAvx512);
  EXPECT_EQ(TextsOf(FindingKind::kProblem, findings), "");
  EXPECT_EQ(TextsOf(FindingKind::kNote, findings), "");
  EXPECT_THAT(TextsOf(FindingKind::kGood, findings), HasSubstr("AVX-512, VNNI"));
}

TEST(Diagnosis, EachProblemIsNamed) {
  struct Case {
    void (*change)(MachineFacts& facts, CpuFeatures& cpu);
    FindingKind kind;
    std::string word;
  };
  const Case cases[] = {
      {[](MachineFacts&, CpuFeatures& cpu) { cpu = {}; }, FindingKind::kProblem, "AVX2"},
      {[](MachineFacts&, CpuFeatures& cpu) { cpu.avx512_vnni = false; }, FindingKind::kNote,
       "VNNI"},
      {[](MachineFacts& facts, CpuFeatures&) { facts.is_virtual = true; }, FindingKind::kNote,
       "virtual"},
      {[](MachineFacts& facts, CpuFeatures&) { facts.governor = "powersave"; },
       FindingKind::kProblem, "governor"},
      {[](MachineFacts& facts, CpuFeatures&) { facts.cpu_quota = 2.5; }, FindingKind::kProblem,
       "2.50"},
      {[](MachineFacts& facts, CpuFeatures&) { facts.numa_nodes = 2; }, FindingKind::kNote, "NUMA"},
      {[](MachineFacts& facts, CpuFeatures&) { facts.load = 5; }, FindingKind::kProblem, "5.0"},
      {[](MachineFacts& facts, CpuFeatures&) { facts.used_swap_bytes = 1ULL << 30; },
       FindingKind::kProblem, "swapped"},
      {[](MachineFacts& facts, CpuFeatures&) { facts.huge_pages = "never"; }, FindingKind::kProblem,
       "madvise"},
      {[](MachineFacts& facts, CpuFeatures&) { facts.open_files = 1024; }, FindingKind::kNote,
       "ulimit"},
  };
  for (const Case& each : cases) {
    MachineFacts facts = GoodFacts();
    CpuFeatures cpu = GoodCpu();
    each.change(facts, cpu);
    const std::vector<Finding> findings = Diagnose(facts, cpu, Isa::kAvx512);
    EXPECT_THAT(TextsOf(each.kind, findings), HasSubstr(each.word));
  }
}

TEST(Diagnosis, WhatIsUsualIsNoProblem) {
  MachineFacts facts = GoodFacts();
  facts.governor = "powersave";
  facts.frequency_driver = "amd-pstate-epp";  // where it is the governor that rises, too
  facts.cpu_quota = 4;
  facts.cpus = 16;
  facts.memory_limit_bytes = 4ULL << 30;
  const std::vector<Finding> findings = Diagnose(facts, GoodCpu(), Isa::kAvx512);
  EXPECT_EQ(TextsOf(FindingKind::kProblem, findings), "");
  EXPECT_THAT(TextsOf(FindingKind::kGood, findings), HasSubstr("8 CPUs of 16"));
}

}  // namespace
}  // namespace weft
