// Persistent compute workers behind one parallel-for. The workers own nothing; the caller computes
// too.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/numa.h"
#include "base/turns.h"

namespace weft {

class ThreadPool {
 public:
  // `thread_count` >= 1 counts the calling thread: 1 starts no worker. With more than one node the
  // threads are shared out over them in proportion to their CPUs, lower indices to earlier nodes,
  // and workers stay on the CPUs of theirs; with none or one, on none in particular. Throws
  // std::system_error if the operating system refuses one of the threads.
  explicit ThreadPool(int thread_count, std::vector<NumaNode> nodes = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int thread_count() const { return static_cast<int>(workers_.size()) + 1; }

  // The nodes that have threads, by their place in that order (not the kernel's number).
  int node_count() const { return static_cast<int>(nodes_.size()); }
  int node_thread_count(int node) const;

  // Where `node`'s part of `count` tasks begins if they are shared out in proportion to threads;
  // for node_count(): count.
  int64_t FirstOfNode(int node, int64_t count) const;

  // With more than one node: keeps the calling thread, which computes as thread 0, on the CPUs of
  // thread 0's node for the life of the result.
  ScopedCpuBinding BindCaller() const;

  // Where several threads compute on the pool, each holds a turn while it does. A loop of a patient
  // turn stops between two tasks when an urgent one is wanted, and goes on afterwards.
  Turns& turns() { return turns_; }

  // Has a worker run the task soon, beside loops, in which it takes no part meanwhile; the oldest
  // comes first. Any thread, even while others compute. Without workers the caller runs it at once.
  // Tasks must not throw, nor use the pool; what has not begun when the pool ends is not run.
  void Post(std::function<void()> task);

  // Calls task(task_index, thread_index) once for every task_index in [0, task_count), on up to
  // thread_count() threads, and returns when all have finished. Each thread has a share of them,
  // the threads of a node together [FirstOfNode(node, task_count), FirstOfNode(node + 1,
  // task_count)), and takes neighbours one after the other: the memory behind one's, which
  // processors and kernels ask for ahead of time, is the next one's. Who is done takes what others
  // have left, one at a time, of its own node first.
  // thread_index is in [0, thread_count()): no two tasks that run at the same time share it.
  // One ParallelFor at a time: call it from one thread, or with a turn, never from inside a task.
  // Tasks must not throw. Workers hold ScopedFlushDenormals; the caller holds its own.
  template <typename Task>
  void ParallelFor(int64_t task_count, Task&& task) {
    ParallelForByNode([&](int node) { return FirstOfNode(node, task_count); }, task);
  }

  // As ParallelFor, for tasks over memory that lies on different nodes in other proportions: tasks
  // [first_task(node), first_task(node + 1)) are those of `node`. first_task(0) is 0.
  template <typename FirstTask, typename Task>
  void ParallelForByNode(const FirstTask& first_task, Task&& task) {
    help_others_ = true;
    Run(SetTasks(first_task), CallOf(task), ContextOf(task));
  }

  // As ParallelForByNode, but nobody helps another node: what a task touches first lies on its own.
  // The caller holds BindCaller().
  template <typename FirstTask, typename Task>
  void ParallelForOnNodes(const FirstTask& first_task, Task&& task) {
    help_others_ = false;
    Run(SetTasks(first_task), CallOf(task), ContextOf(task));
  }

 private:
  using TaskFunction = void (*)(void* context, int64_t task_index, int thread_index);

  struct Node {
    int first_thread = 0;
    int end_thread = 0;
    std::vector<int> cpus;
  };
  // What is left of a thread's part of the loop in progress: [next_task, end_task).
  struct alignas(64) Share {
    std::atomic<int64_t> next_task{0};
    int64_t end_task = 0;
  };

  template <typename Task>
  static TaskFunction CallOf(Task& /*task*/) {
    return [](void* context, int64_t task_index, int thread_index) {
      (*static_cast<Task*>(context))(task_index, thread_index);
    };
  }
  template <typename Task>
  static void* ContextOf(Task& task) {
    return const_cast<void*>(static_cast<const void*>(&task));
  }

  // Returns their number.
  template <typename FirstTask>
  int64_t SetTasks(const FirstTask& first_task) {
    for (int node = 0; node < node_count(); ++node) {
      SetTasksOfNode(nodes_[static_cast<size_t>(node)], first_task(node), first_task(node + 1));
    }
    return shares_.back().end_task;
  }
  void SetTasksOfNode(const Node& node, int64_t first_task, int64_t end_task);

  void ShareOutThreads(int thread_count, std::vector<NumaNode> nodes);
  void AddNode(int first_thread, int end_thread, std::vector<int> cpus);
  size_t NodeOf(int thread_index) const;
  void Run(int64_t task_count, TaskFunction function, void* context);
  // Until all tasks are taken, or the turn is wanted.
  void RunOpenLoop();
  // Lets others compute; what is left of the loop in progress is there again afterwards.
  void YieldTurn();
  void StopWorkers();
  void WorkerLoop(int thread_index);
  bool TryJoin(uint32_t& seen_loop);
  // False: there is none.
  bool RunPosted();
  void DrainTasks(int thread_index);
  void DrainNode(const Node& node, int thread_index);
  bool AllTaken() const;

  Turns turns_;

  // The loop in progress: written by Run before it opens the loop, read by those who joined it.
  TaskFunction function_ = nullptr;
  void* context_ = nullptr;
  bool help_others_ = true;
  std::vector<Node> nodes_;    // those with threads, at least one
  std::vector<Share> shares_;  // by thread

  // Number of the loop (high half), whether workers may still join it (kOpen), and how many have
  // joined and not left. The caller waits for those only: a worker that the operating system wakes
  // late, because cores are shared, finds the loop closed and delays nobody.
  alignas(64) std::atomic<uint64_t> state_{0};
  std::atomic<bool> stopping_{false};

  std::mutex mutex_;  // guards sleeping and posted_
  std::deque<std::function<void()>> posted_;
  std::atomic<int64_t> posted_count_{0};  // its size
  std::condition_variable wake_;
  std::vector<std::thread> workers_;
};

}  // namespace weft
