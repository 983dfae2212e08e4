#include "base/thread_pool.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/float_env.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft {
namespace {

// How long a worker looks for the next step before it sleeps: long enough to bridge the serial
// stretches between two parallel loops of a layer, short enough that an idle server costs no CPU.
constexpr int kSpinIterations = 2000;

// ThreadPool::state_
constexpr uint64_t kOpen = uint64_t{1} << 31;
constexpr uint64_t kJoinedMask = kOpen - 1;
constexpr uint32_t LoopOf(uint64_t state) { return static_cast<uint32_t>(state >> 32); }

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// Spins at first; then lets others have the core: the thread that is waited for may be waiting for
// this very one.
template <typename Condition>
void WaitUntil(const Condition& condition) {
  for (int spins = 0; !condition(); ++spins) {
    if (spins < kSpinIterations) {
      Pause();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace

ThreadPool::ThreadPool(int thread_count, std::vector<NumaNode> nodes) {
  WEFT_CHECK(thread_count >= 1);
  ShareOutThreads(thread_count, std::move(nodes));
  shares_ = std::vector<Share>(static_cast<size_t>(thread_count));
  workers_.reserve(static_cast<size_t>(thread_count - 1));
  try {
    for (int i = 1; i < thread_count; ++i) workers_.emplace_back([this, i] { WorkerLoop(i); });
  } catch (const std::system_error& error) {
    StopWorkers();
    throw std::system_error(error.code(),
                            "cannot start " + std::to_string(thread_count) + " compute threads");
  } catch (...) {
    StopWorkers();
    throw;
  }
}

void ThreadPool::ShareOutThreads(int thread_count, std::vector<NumaNode> nodes) {
  size_t cpu_count = 0;
  for (const NumaNode& node : nodes) cpu_count += node.cpus.size();
  size_t cpus_before = 0;
  int end_thread = 0;
  for (NumaNode& node : nodes) {
    const int first_thread = end_thread;
    cpus_before += node.cpus.size();
    const double share = static_cast<double>(cpus_before) / static_cast<double>(cpu_count);
    end_thread = static_cast<int>(std::lround(share * thread_count));
    if (end_thread > first_thread) AddNode(first_thread, end_thread, std::move(node.cpus));
  }
  if (nodes_.size() > 1) return;
  nodes_.clear();
  AddNode(0, thread_count, {});
}

void ThreadPool::AddNode(int first_thread, int end_thread, std::vector<int> cpus) {
  nodes_.push_back({first_thread, end_thread, std::move(cpus)});
}

ThreadPool::~ThreadPool() { StopWorkers(); }

void ThreadPool::StopWorkers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

int ThreadPool::node_thread_count(int node) const {
  const Node& its = nodes_[static_cast<size_t>(node)];
  return its.end_thread - its.first_thread;
}

int64_t ThreadPool::FirstOfNode(int node, int64_t count) const {
  if (node == node_count()) return count;
  return count * nodes_[static_cast<size_t>(node)].first_thread / thread_count();
}

ScopedCpuBinding ThreadPool::BindCaller() const { return ScopedCpuBinding(nodes_.front().cpus); }

void ThreadPool::SetTasksOfNode(const Node& node, int64_t first_task, int64_t end_task) {
  const int64_t threads = node.end_thread - node.first_thread;
  // Rounded up: of few tasks the caller, who is awake, has one.
  const auto first_of = [&](int64_t i) {
    return first_task + ((end_task - first_task) * i + threads - 1) / threads;
  };
  for (int64_t i = 0; i < threads; ++i) {
    Share& share = shares_[static_cast<size_t>(node.first_thread + i)];
    share.next_task.store(first_of(i), std::memory_order_relaxed);
    share.end_task = first_of(i + 1);
  }
}

void ThreadPool::Run(int64_t task_count, TaskFunction function, void* context) {
  if (task_count <= 0) return;
  function_ = function;
  context_ = context;
  if (turns_.wanted()) YieldTurn();
  if (task_count == 1 || workers_.empty()) {
    for (int64_t i = 0; i < task_count; ++i) {
      function(context, i, 0);
      if (turns_.wanted()) YieldTurn();
    }
    return;
  }
  RunOpenLoop();
  while (!AllTaken()) {
    YieldTurn();
    RunOpenLoop();
  }
}

void ThreadPool::RunOpenLoop() {
  {
    const std::lock_guard lock(mutex_);
    const uint64_t loop = LoopOf(state_.load(std::memory_order_relaxed)) + uint64_t{1};
    state_.store((loop << 32) | kOpen, std::memory_order_release);
  }
  wake_.notify_all();
  DrainTasks(0);
  // What others alone may take is taken only if they may still join.
  WaitUntil([&] { return help_others_ || AllTaken() || turns_.wanted(); });
  state_.fetch_and(~kOpen, std::memory_order_acq_rel);
  WaitUntil([&] { return (state_.load(std::memory_order_acquire) & kJoinedMask) == 0; });
}

void ThreadPool::YieldTurn() {
  struct Rest {
    int64_t next_task;
    int64_t end_task;
  };
  std::vector<Rest> rests;
  rests.reserve(shares_.size());
  for (const Share& share : shares_) {
    rests.push_back({share.next_task.load(std::memory_order_relaxed), share.end_task});
  }
  const TaskFunction function = function_;
  void* const context = context_;
  const bool help_others = help_others_;
  turns_.Yield();
  function_ = function;
  context_ = context;
  help_others_ = help_others;
  for (size_t i = 0; i < shares_.size(); ++i) {
    shares_[i].next_task.store(rests[i].next_task, std::memory_order_relaxed);
    shares_[i].end_task = rests[i].end_task;
  }
}

void ThreadPool::DrainTasks(int thread_index) {
  const size_t own = NodeOf(thread_index);
  const size_t visited = help_others_ ? nodes_.size() : 1;
  for (size_t i = 0; i < visited; ++i) DrainNode(nodes_[(own + i) % nodes_.size()], thread_index);
}

// From the thread's own share on, if it is of this node, or else from any.
void ThreadPool::DrainNode(const Node& node, int thread_index) {
  const int threads = node.end_thread - node.first_thread;
  const bool is_own = thread_index >= node.first_thread && thread_index < node.end_thread;
  const int begin = is_own ? thread_index - node.first_thread : thread_index % threads;
  for (int i = 0; i < threads; ++i) {
    const int thread = node.first_thread + (begin + i) % threads;
    Share& share = shares_[static_cast<size_t>(thread)];
    // Looked at before it is written: of many threads most find nothing in most shares.
    while (!turns_.wanted() && share.next_task.load(std::memory_order_relaxed) < share.end_task) {
      const int64_t task = share.next_task.fetch_add(1, std::memory_order_relaxed);
      if (task >= share.end_task) break;
      function_(context_, task, thread_index);
    }
  }
}

size_t ThreadPool::NodeOf(int thread_index) const {
  size_t node = 0;
  while (thread_index >= nodes_[node].end_thread) ++node;
  return node;
}

bool ThreadPool::AllTaken() const {
  return std::all_of(shares_.begin(), shares_.end(), [](const Share& share) {
    return share.next_task.load(std::memory_order_relaxed) >= share.end_task;
  });
}

// Joins the loop in progress if it is one that this worker has not seen and that is still open.
bool ThreadPool::TryJoin(uint32_t& seen_loop) {
  uint64_t state = state_.load(std::memory_order_acquire);
  while (LoopOf(state) != seen_loop && (state & kOpen) != 0) {
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) {
      seen_loop = LoopOf(state);
      return true;
    }
  }
  return false;
}

void ThreadPool::Post(std::function<void()> task) {
  if (workers_.empty()) return task();
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
    posted_count_.fetch_add(1, std::memory_order_relaxed);
  }
  wake_.notify_one();
}

bool ThreadPool::RunPosted() {
  if (posted_count_.load(std::memory_order_relaxed) == 0) return false;
  std::function<void()> task;
  {
    const std::lock_guard lock(mutex_);
    if (posted_.empty()) return false;
    task = std::move(posted_.front());
    posted_.pop_front();
    posted_count_.fetch_sub(1, std::memory_order_relaxed);
  }
  task();
  return true;
}

void ThreadPool::WorkerLoop(int thread_index) {
  const ScopedFlushDenormals flush_denormals;
  if (nodes_.size() > 1) BindThisThread(nodes_[NodeOf(thread_index)].cpus);
  uint32_t seen_loop = 0;
  int spins = 0;
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (RunPosted()) {
      spins = 0;
    } else if (TryJoin(seen_loop)) {
      DrainTasks(thread_index);
      state_.fetch_sub(1, std::memory_order_release);
      spins = 0;
    } else if (spins < kSpinIterations) {
      ++spins;
      Pause();
    } else {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] {
        const uint64_t state = state_.load(std::memory_order_acquire);
        return stopping_.load() || !posted_.empty() ||
               (LoopOf(state) != seen_loop && (state & kOpen) != 0);
      });
      spins = 0;
    }
  }
}

}  // namespace weft
