#include "base/resources.h"

#include <sched.h>
#include <thread>

#include <gtest/gtest.h>

#include "tests/temporary_directory.h"

namespace weft {
namespace {

CgroupFiles FilesIn(const TemporaryDirectory& directory) {
  return {directory.path() + "/cgroup", directory.path() + "/membership"};
}

TEST(Resources, CgroupV2TakesTheTightestLimitOnTheWayUp) {
  const TemporaryDirectory directory;
  directory.Write("membership", "0::/outer/inner\n");
  directory.Write("cgroup/outer/cpu.max", "150000 100000\n");
  directory.Write("cgroup/outer/inner/cpu.max", "max 100000\n");
  directory.Write("cgroup/outer/memory.max", "max\n");
  directory.Write("cgroup/outer/inner/memory.max", "1073741824\n");
  EXPECT_EQ(CgroupCpuQuota(FilesIn(directory)), 1.5);
  EXPECT_EQ(CgroupMemoryLimit(FilesIn(directory)), uint64_t{1} << 30);
}

TEST(Resources, CgroupV2InsideAContainerReadsTheMountsRoot) {
  const TemporaryDirectory directory;
  directory.Write("membership", "0::/\n");
  directory.Write("cgroup/cpu.max", "200000 100000\n");
  directory.Write("cgroup/memory.max", "4096\n");
  EXPECT_EQ(CgroupCpuQuota(FilesIn(directory)), 2.0);
  EXPECT_EQ(CgroupMemoryLimit(FilesIn(directory)), 4096u);
}

TEST(Resources, CgroupV1) {
  const TemporaryDirectory directory;
  directory.Write("membership", "5:memory:/job\n3:cpu,cpuacct:/job\n");
  directory.Write("cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
  directory.Write("cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  directory.Write("cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  directory.Write("cgroup/cpu/cpu.cfs_period_us", "100000\n");
  directory.Write("cgroup/memory/job/memory.limit_in_bytes", "8192\n");
  EXPECT_EQ(CgroupCpuQuota(FilesIn(directory)), 0.5);
  EXPECT_EQ(CgroupMemoryLimit(FilesIn(directory)), 8192u);
}

TEST(Resources, CgroupV1TakesTheTightestLimitOnTheWayUp) {
  const TemporaryDirectory directory;
  directory.Write("membership", "5:memory:/outer/inner\n3:cpuacct,cpu:/outer/inner\n0::/\n");
  directory.Write("cgroup/cpu/outer/cpu.cfs_quota_us", "150000\n");
  directory.Write("cgroup/cpu/outer/cpu.cfs_period_us", "100000\n");
  directory.Write("cgroup/cpu/outer/inner/cpu.cfs_quota_us", "300000\n");
  directory.Write("cgroup/cpu/outer/inner/cpu.cfs_period_us", "100000\n");
  directory.Write("cgroup/memory/outer/memory.limit_in_bytes", "4096\n");
  directory.Write("cgroup/memory/outer/inner/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(CgroupCpuQuota(FilesIn(directory)), 1.5);
  EXPECT_EQ(CgroupMemoryLimit(FilesIn(directory)), 4096u);
}

TEST(Resources, CgroupV1InsideAContainerReadsTheMountsRoot) {
  const TemporaryDirectory directory;  // the host's path, which is not mounted here
  directory.Write("membership", "5:memory:/docker/4a5b\n3:cpu,cpuacct:/docker/4a5b\n");
  directory.Write("cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  directory.Write("cgroup/cpu/cpu.cfs_period_us", "100000\n");
  directory.Write("cgroup/memory/memory.limit_in_bytes", "4096\n");
  EXPECT_EQ(CgroupCpuQuota(FilesIn(directory)), 2.0);
  EXPECT_EQ(CgroupMemoryLimit(FilesIn(directory)), 4096u);
}

TEST(Resources, WithoutCgroupsThereIsNoLimit) {
  const TemporaryDirectory directory;
  EXPECT_EQ(CgroupCpuQuota(FilesIn(directory)), std::nullopt);
  EXPECT_EQ(CgroupMemoryLimit(FilesIn(directory)), std::nullopt);
}

TEST(Resources, TheAffinityMaskBoundsTheCpuCount) {
  int count = 0;
  std::thread pinned([&] {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &allowed) != 0) {
        CPU_SET(cpu, &one);
        break;
      }
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    count = AvailableCpuCount();
  });
  pinned.join();
  EXPECT_EQ(count, 1);
}

TEST(Resources, ThisProcessHasMemoryAndACore) {
  EXPECT_GE(AvailableCpuCount(), 1);
  EXPECT_GT(AvailableMemoryBytes(), uint64_t{1} << 20);
  EXPECT_GT(ResidentBytes(), 0u);
  EXPECT_LT(ResidentBytes(), uint64_t{1} << 40);
}

}  // namespace
}  // namespace weft
