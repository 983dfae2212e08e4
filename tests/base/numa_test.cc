#include "base/numa.h"

#include <thread>

#include <gtest/gtest.h>

#include "tests/temporary_directory.h"

namespace weft {
namespace {

using Cpus = std::vector<int>;

// Two nodes of four CPUs, whose numbers alternate as hyperthreads' often do, and memory alone.
void WriteTwoNodes(const TemporaryDirectory& directory) {
  directory.Write("online", "0,2-3\n");
  directory.Write("node0/cpulist", "0-1,4-5\n");
  directory.Write("node2/cpulist", "2-3,6-7\n");
  directory.Write("node3/cpulist", "\n");
}

void ExpectOneNode(const TemporaryDirectory& directory, const Cpus& allowed) {
  const std::vector<NumaNode> nodes = NumaNodes(directory.path(), allowed);
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].cpus, allowed);
}

TEST(Numa, ReadsTheNodesOfTheAllowedCpus) {
  const TemporaryDirectory directory;
  WriteTwoNodes(directory);
  std::vector<NumaNode> nodes = NumaNodes(directory.path(), {0, 1, 2, 3, 4, 5, 6, 7});
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].id, 0);
  EXPECT_EQ(nodes[0].cpus, Cpus({0, 1, 4, 5}));
  EXPECT_EQ(nodes[1].id, 2);
  EXPECT_EQ(nodes[1].cpus, Cpus({2, 3, 6, 7}));

  nodes = NumaNodes(directory.path(), {1, 6, 7});
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].cpus, Cpus({1}));
  EXPECT_EQ(nodes[1].cpus, Cpus({6, 7}));

  nodes = NumaNodes(directory.path(), {3, 6});
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].id, 2);
  EXPECT_EQ(nodes[0].cpus, Cpus({3, 6}));
}

TEST(Numa, IsOneNodeWhereTheFilesDoNotTell) {
  const TemporaryDirectory directory;
  ExpectOneNode(directory, {0, 1});  // nothing there
  WriteTwoNodes(directory);
  ExpectOneNode(directory, {0, 2, 8});  // of CPU 8 nothing is said
  ExpectOneNode(directory, {});
  for (const char* hostile : {"", "x", "2-", "-3", "2-3,", "3-2", "2,2", "2-3,3", "2 3", "2-3\t6",
                              "99999999999", "2-99999999", "2-3,0-7"}) {
    SCOPED_TRACE(hostile);
    directory.Write("node2/cpulist", hostile);
    ExpectOneNode(directory, {0, 2});
  }
  directory.Write("node2/cpulist", "0-3");  // CPU 0 is on both
  ExpectOneNode(directory, {0, 2});
  WriteTwoNodes(directory);
  for (const char* hostile : {"", "0-5", "zero", "0-99999999"}) {
    SCOPED_TRACE(hostile);
    directory.Write("online", hostile);
    ExpectOneNode(directory, {0, 2});
  }
}

TEST(Numa, ThisMachineHasANodeForEveryCpu) {
  size_t cpu_count = 0;
  for (const NumaNode& node : NumaNodes()) cpu_count += node.cpus.size();
  EXPECT_EQ(cpu_count, AllowedCpus().size());
}

TEST(Numa, BindingEndsWithItsScopeAndNeverFails) {
  std::thread([] {  // the test's own thread stays as it is
    const Cpus before = AllowedCpus();
    ASSERT_FALSE(before.empty());
    {
      const ScopedCpuBinding bound(Cpus{before.back()});
      EXPECT_EQ(AllowedCpus(), Cpus{before.back()});
    }
    EXPECT_EQ(AllowedCpus(), before);
    const ScopedCpuBinding nowhere(Cpus{});
    EXPECT_EQ(AllowedCpus(), before);
    BindThisThread(Cpus{-1, 8191, 1 << 30});  // no such CPUs
    EXPECT_EQ(AllowedCpus(), before);
  })
      .join();
}

}  // namespace
}  // namespace weft
