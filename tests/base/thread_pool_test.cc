#include "base/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <time.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/float_env.h"

namespace weft {
namespace {

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

TEST(ThreadPool, StopsWhileWorkersSleepOrSpin) {
  for (int i = 0; i < 50; ++i) {
    ThreadPool pool(3);
    if (i % 2 == 0) pool.ParallelFor(3, [](int64_t, int) {});
  }
}

}  // namespace
}  // namespace weft
