#include "base/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <string_view>
#include <system_error>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/float_env.h"
#include "tests/sanitizer.h"

namespace weft {
namespace {

// CPUs that do not exist: binding to them changes nothing.
std::vector<NumaNode> TwoNodes(int first_cpu_count, int second_cpu_count) {
  std::vector<NumaNode> nodes = {{0, {}}, {4, {}}};
  for (int i = 0; i < first_cpu_count; ++i) nodes[0].cpus.push_back(7'000 + i);
  for (int i = 0; i < second_cpu_count; ++i) nodes[1].cpus.push_back(7'500 + i);
  return nodes;
}

TEST(ThreadPool, RunsEveryTaskOnceWhateverTheCounts) {
  for (const int thread_count : {1, 2, 3, 8}) {
    ThreadPool pool(thread_count);
    EXPECT_EQ(pool.thread_count(), thread_count);
    for (const int64_t task_count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(task_count));
      pool.ParallelFor(task_count, [&](int64_t task, int thread) {
        ASSERT_GE(thread, 0);
        ASSERT_LT(thread, thread_count);
        runs[static_cast<size_t>(task)].fetch_add(1);
      });
      EXPECT_TRUE(
          std::all_of(runs.begin(), runs.end(), [](const auto& count) { return count == 1; }));
    }
  }
}

// Lets two tasks go on when both have begun, or a long time has passed.
class Meeting {
 public:
  bool Join() {
    joined_.fetch_add(1);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (joined_.load() < 2) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

 private:
  std::atomic<int> joined_{0};
};

TEST(ThreadPool, AThreadTakesNeighbouringTasks) {
  ThreadPool pool(2);
  std::vector<std::vector<int64_t>> tasks(2);
  Meeting of_firsts;
  Meeting of_lasts;
  pool.ParallelFor(20, [&](int64_t task, int thread) {
    tasks[static_cast<size_t>(thread)].push_back(task);
    const bool firsts_met = task % 10 != 0 || of_firsts.Join();
    const bool lasts_met = task % 10 != 9 || of_lasts.Join();
    EXPECT_TRUE(firsts_met && lasts_met);
  });
  EXPECT_EQ(tasks[0], (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(tasks[1], (std::vector<int64_t>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
}

TEST(ThreadPool, WhoIsDoneTakesWhatOthersHaveLeft) {
  ThreadPool pool(2);
  std::vector<int> threads(20, -1);
  std::atomic<int64_t> done{0};
  pool.ParallelFor(20, [&](int64_t task, int thread) {
    threads[static_cast<size_t>(task)] = thread;
    // Task 0 ends when all others have, those behind it too, or after a long time.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (task == 0 && done.load() < 19 && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    done.fetch_add(1);
  });
  EXPECT_EQ(std::count(threads.begin() + 1, threads.begin() + 10, threads[0]), 0);
}

TEST(ThreadPool, TasksThatRunTogetherNeverShareAThreadIndex) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> inside(4);
  for (int round = 0; round < 50; ++round) {
    pool.ParallelFor(64, [&](int64_t, int thread) {
      EXPECT_EQ(inside[static_cast<size_t>(thread)].fetch_add(1), 0);
      inside[static_cast<size_t>(thread)].fetch_sub(1);
    });
  }
}

// The result of one loop must be visible to the next, and no task may run twice or late, however
// many short loops follow one another: this is where a worker that wakes up late would show.
TEST(ThreadPool, ManyShortLoopsInARowSeeEachOthersWrites) {
  ThreadPool pool(3);
  std::vector<int64_t> values(17, 0);
  std::mt19937 random(1);
  int64_t expected_loops = 0;
  for (int loop = 0; loop < 5'000; ++loop) {
    const auto task_count = static_cast<int64_t>(2 + random() % 15);
    pool.ParallelFor(task_count, [&](int64_t task, int) { ++values[static_cast<size_t>(task)]; });
    pool.ParallelFor(static_cast<int64_t>(values.size()), [&](int64_t task, int) {
      if (task >= task_count) ++values[static_cast<size_t>(task)];
    });
    ++expected_loops;
  }
  EXPECT_EQ(values, std::vector<int64_t>(17, expected_loops));
}

// A loop of 1,000 tasks is stopped by another thread's urgent one, and then goes on.
TEST(ThreadPool, AnUrgentLoopRunsBetweenTheTasksOfAPatientOne) {
  struct Case {
    int thread_count;
    bool on_nodes;
  };
  for (const Case& it : {Case{1, false}, Case{2, false}, Case{4, false}, Case{4, true}}) {
    ThreadPool pool(it.thread_count, it.on_nodes ? TwoNodes(2, 2) : std::vector<NumaNode>{});
    std::vector<std::atomic<int>> runs(1000);
    std::vector<std::atomic<int>> urgent_runs(50);
    std::atomic<int> done{0};
    int done_before_urgent = 0;
    std::thread other;
    const auto run_urgent = [&] {
      const ScopedTurn turn(pool.turns(), Turns::Urgency::kUrgent);
      done_before_urgent = done;
      pool.ParallelFor(50, [&](int64_t task, int) { ++urgent_runs[static_cast<size_t>(task)]; });
    };
    {
      const ScopedTurn turn(pool.turns(), Turns::Urgency::kPatient);
      const auto patient = [&](int64_t task, int) {
        if (task == 10) {
          other = std::thread(run_urgent);
          while (!pool.turns().wanted()) std::this_thread::yield();
        }
        ++runs[static_cast<size_t>(task)];
        ++done;
        // So that the others leave something.
        while (task > 10 && task < 999 && urgent_runs[0] == 0 && !pool.turns().wanted()) {
          std::this_thread::yield();
        }
      };
      if (it.on_nodes) {
        pool.ParallelForOnNodes([&](int node) { return pool.FirstOfNode(node, 1000); }, patient);
      } else {
        pool.ParallelFor(1000, patient);
      }
    }
    other.join();
    const auto once = [](const auto& count) { return count == 1; };
    EXPECT_TRUE(std::ranges::all_of(runs, once));
    EXPECT_TRUE(std::ranges::all_of(urgent_runs, once));
    EXPECT_GE(done_before_urgent, 11);
    EXPECT_LT(done_before_urgent, 1000);
  }
}

TEST(ThreadPool, WorkersFlushDenormals) {
  ThreadPool pool(4);
  const ScopedFlushDenormals flush_denormals;
  std::atomic<int> wrong{0};
  pool.ParallelFor(64, [&](int64_t, int) {
    volatile float tiny = 1e-38f;
    volatile float denormal = tiny * 0.01f;
    if (denormal != 0.0f) wrong.fetch_add(1);
  });
#if defined(__x86_64__)
  EXPECT_EQ(wrong, 0);
#endif
}

TEST(ThreadPool, WhatIsPostedRunsOnceBesideLoopsAndWhileThereAreNone) {
  for (const int thread_count : {1, 2, 4}) {
    ThreadPool pool(thread_count);
    constexpr int kPosts = 50;
    std::vector<std::atomic<int>> runs(kPosts);
    std::atomic<int> on_caller{0};
    std::atomic<int> done{0};
    std::atomic<int64_t> looped{0};
    for (size_t post = 0; post < kPosts; ++post) {
      pool.Post([&, post, caller = std::this_thread::get_id()] {
        runs[post].fetch_add(1);
        on_caller.fetch_add(std::this_thread::get_id() == caller ? 1 : 0);
        done.fetch_add(1);
      });
      if (post % 2 == 0) pool.ParallelFor(20, [&](int64_t, int) { looped.fetch_add(1); });
    }
    while (done.load() < kPosts) std::this_thread::yield();
    EXPECT_TRUE(std::ranges::all_of(runs, [](const auto& count) { return count == 1; }));
    EXPECT_EQ(on_caller.load(), thread_count == 1 ? kPosts : 0);
    EXPECT_EQ(looped.load(), kPosts / 2 * 20);
  }
}

TEST(ThreadPool, ALoopDoesNotWaitForWhatIsPosted) {
  ThreadPool pool(2);
  std::atomic<bool> may_end{false};
  std::atomic<bool> has_ended{false};
  pool.Post([&] {
    while (!may_end.load()) std::this_thread::yield();
    has_ended.store(true);
  });
  std::atomic<int> count{0};
  pool.ParallelFor(10, [&](int64_t, int) { count.fetch_add(1); });
  EXPECT_EQ(count.load(), 10);
  EXPECT_FALSE(has_ended.load());
  may_end.store(true);
  while (!has_ended.load()) std::this_thread::yield();
}

TEST(FloatEnvironment, IsRestoredOnExit) {
  volatile float tiny = 1e-38f;
  { const ScopedFlushDenormals flush_denormals; }
  volatile float denormal = tiny * 0.01f;
  EXPECT_NE(denormal, 0.0f);
}

TEST(ThreadPool, IdleWorkersUseNoCpu) {
  const ThreadPool pool(4);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // past the spinning
  const clock_t before = clock();                              // CPU time of the whole process
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(clock() - before, CLOCKS_PER_SEC / 20);
}

TEST(ThreadPool, SleepingWorkersWakeForTheNextLoop) {
  ThreadPool pool(2);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // past the spinning
    std::atomic<int> arrived{0};
    // Neither task ends before the other has begun: it takes both threads.
    pool.ParallelFor(2, [&](int64_t, int) {
      arrived.fetch_add(1);
      while (arrived.load() < 2) std::this_thread::yield();
    });
  }
}

TEST(ThreadPoolNodes, ThreadsAreSharedOutInProportionToCpus) {
  const ThreadPool pool(9, TwoNodes(8, 4));
  ASSERT_EQ(pool.node_count(), 2);
  EXPECT_EQ(pool.node_thread_count(0), 6);
  EXPECT_EQ(pool.node_thread_count(1), 3);
  EXPECT_EQ(pool.FirstOfNode(0, 100), 0);
  EXPECT_EQ(pool.FirstOfNode(1, 100), 66);
  EXPECT_EQ(pool.FirstOfNode(2, 100), 100);
}

TEST(ThreadPoolNodes, NodesWithoutThreadsDoNotCount) {
  const auto expect_one_node = [](const ThreadPool& pool) {
    EXPECT_EQ(pool.node_count(), 1);
    EXPECT_EQ(pool.node_thread_count(0), pool.thread_count());
    EXPECT_EQ(pool.FirstOfNode(0, 7), 0);
    EXPECT_EQ(pool.FirstOfNode(1, 7), 7);
  };
  expect_one_node(ThreadPool(1, TwoNodes(2, 2)));
  expect_one_node(ThreadPool(4, TwoNodes(100, 1)));
  expect_one_node(ThreadPool(3, TwoNodes(2, 0)));
  expect_one_node(ThreadPool(3, {}));
}

// Who ran which tasks, in what order, with two threads on each of two nodes.
std::vector<std::vector<int64_t>> TasksByThread(bool others_help, int64_t task_count) {
  ThreadPool pool(4, TwoNodes(2, 2));
  std::vector<std::vector<int64_t>> tasks(4);
  std::vector<std::atomic<int>> runs(static_cast<size_t>(task_count));
  const auto first_task = [&](int node) { return pool.FirstOfNode(node, task_count); };
  const auto task = [&](int64_t index, int thread) {
    tasks[static_cast<size_t>(thread)].push_back(index);
    runs[static_cast<size_t>(index)].fetch_add(1);
  };
  if (others_help) {
    pool.ParallelForByNode(first_task, task);
  } else {
    pool.ParallelForOnNodes(first_task, task);
  }
  EXPECT_TRUE(std::all_of(runs.begin(), runs.end(), [](const auto& count) { return count == 1; }));
  return tasks;
}

TEST(ThreadPoolNodes, ThreadsTakeTheTasksOfTheirNodeFirst) {
  for (int round = 0; round < 20; ++round) {
    const auto tasks = TasksByThread(/*others_help=*/true, 200);
    for (size_t thread = 0; thread < tasks.size(); ++thread) {
      const bool on_second = thread >= 2;
      EXPECT_TRUE(std::is_partitioned(tasks[thread].begin(), tasks[thread].end(),
                                      [&](int64_t task) { return (task >= 100) == on_second; }));
    }
  }
}

TEST(ThreadPoolNodes, NobodyHelpsWhereMemoryIsPlaced) {
  for (const int64_t task_count : {2, 3, 4, 200}) {
    const auto tasks = TasksByThread(/*others_help=*/false, task_count);
    for (size_t thread = 0; thread < tasks.size(); ++thread) {
      for (const int64_t task : tasks[thread]) {
        EXPECT_EQ(task >= task_count / 2, thread >= 2);
      }
    }
  }
}

TEST(ThreadPoolNodes, ANodeThatIsDoneHelpsTheOther) {
  ThreadPool pool(2, TwoNodes(1, 1));
  std::atomic<int64_t> done{0};
  // Whoever takes task 10, the first of the second node, holds it until all others have run: some
  // of that node's by the thread of the first.
  pool.ParallelFor(20, [&](int64_t task, int) {
    while (task == 10 && done.load() < 19) std::this_thread::yield();
    done.fetch_add(1);
  });
  EXPECT_EQ(done, 20);
}

TEST(ThreadPoolNodes, AllKindsOfLoopsFollowOneAnother) {
  ThreadPool pool(3, TwoNodes(1, 2));
  std::vector<int64_t> values(30, 0);
  const auto first_task = [&](int node) { return pool.FirstOfNode(node, std::ssize(values)); };
  const auto add = [&](int64_t task, int) { ++values[static_cast<size_t>(task)]; };
  for (int round = 0; round < 1'000; ++round) {
    pool.ParallelForOnNodes(first_task, add);
    pool.ParallelFor(std::ssize(values), add);
    pool.ParallelForByNode(first_task, add);
  }
  EXPECT_EQ(values, std::vector<int64_t>(30, 3'000));
}

// Ends the process: with status 0 if more threads than there is room for are refused in good order.
void AskForTooManyThreads() {
  std::ifstream file("/proc/self/statm");
  rlim_t page_count = 0;
  file >> page_count;
  constexpr rlim_t kRoom = rlim_t{100} << 20;  // for the stacks of a few
  const rlim_t size_bytes = page_count * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + kRoom;
  const rlimit limit = {size_bytes, size_bytes};
  setrlimit(RLIMIT_AS, &limit);
  try {
    const ThreadPool pool(4096);
  } catch (const std::system_error& error) {
    const std::string_view what = error.what();
    std::_Exit(what.starts_with("cannot start 4096 compute threads: ") ? 0 : 2);
  }
  std::_Exit(1);
}

TEST(ThreadPoolDeathTest, ThreadsThatTheSystemRefusesAreAnException) {
  if (kUnderSanitizer) GTEST_SKIP() << "a sanitizer needs address space of its own";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(AskForTooManyThreads(), testing::ExitedWithCode(0), "");
}

TEST(ThreadPool, StopsWhileWorkersSleepOrSpin) {
  for (int i = 0; i < 50; ++i) {
    ThreadPool pool(3);
    if (i % 2 == 0) pool.ParallelFor(3, [](int64_t, int) {});
  }
}

}  // namespace
}  // namespace weft
