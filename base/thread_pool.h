// Persistent compute workers behind one parallel-for. The workers own nothing; the caller computes
// too.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace weft {

class ThreadPool {
 public:
  // `thread_count` >= 1 counts the calling thread: 1 starts no worker.
  explicit ThreadPool(int thread_count);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int thread_count() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls task(task_index, thread_index) once for every task_index in [0, task_count), handed out
  // by an atomic counter, on up to thread_count() threads, and returns when all have finished.
  // thread_index is in [0, thread_count()): no two tasks that run at the same time share it.
  // One ParallelFor at a time: call it from one thread (the engine's), never from inside a task.
  // Tasks must not throw. Workers hold ScopedFlushDenormals; the caller holds its own.
  template <typename Task>
  void ParallelFor(int64_t task_count, Task&& task) {
    using Plain = std::remove_reference_t<Task>;
    Run(
        task_count,
        [](void* context, int64_t task_index, int thread_index) {
          (*static_cast<Plain*>(context))(task_index, thread_index);
        },
        const_cast<void*>(static_cast<const void*>(&task)));
  }

 private:
  using TaskFunction = void (*)(void* context, int64_t task_index, int thread_index);

  void Run(int64_t task_count, TaskFunction function, void* context);
  void WorkerLoop(int thread_index);
  bool TryJoin(uint32_t& seen_loop);
  void DrainTasks(int thread_index);

  // The loop in progress: written by Run before it opens the loop, read by those who joined it.
  TaskFunction function_ = nullptr;
  void* context_ = nullptr;
  int64_t task_count_ = 0;

  alignas(64) std::atomic<int64_t> next_task_{0};
  // Number of the loop (high half), whether workers may still join it (kOpen), and how many have
  // joined and not left. The caller waits for those only: a worker that the operating system wakes
  // late, because cores are shared, finds the loop closed and delays nobody.
  alignas(64) std::atomic<uint64_t> state_{0};
  std::atomic<bool> stopping_{false};

  std::mutex mutex_;  // guards sleeping only
  std::condition_variable wake_;
  std::vector<std::thread> workers_;
};

}  // namespace weft
