#include "base/thread_pool.h"

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

}  // namespace

ThreadPool::ThreadPool(int thread_count) {
  WEFT_CHECK(thread_count >= 1);
  workers_.reserve(static_cast<size_t>(thread_count - 1));
  for (int i = 1; i < thread_count; ++i) workers_.emplace_back([this, i] { WorkerLoop(i); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Run(int64_t task_count, TaskFunction function, void* context) {
  if (task_count <= 0) return;
  if (task_count == 1 || workers_.empty()) {
    for (int64_t i = 0; i < task_count; ++i) function(context, i, 0);
    return;
  }
  function_ = function;
  context_ = context;
  task_count_ = task_count;
  next_task_.store(0, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    const uint64_t loop = LoopOf(state_.load(std::memory_order_relaxed)) + uint64_t{1};
    state_.store((loop << 32) | kOpen, std::memory_order_release);
  }
  wake_.notify_all();
  DrainTasks(0);
  state_.fetch_and(~kOpen, std::memory_order_acq_rel);
  for (int spins = 0; (state_.load(std::memory_order_acquire) & kJoinedMask) != 0; ++spins) {
    if (spins < kSpinIterations) {
      Pause();
    } else {
      std::this_thread::yield();  // the worker may be waiting for this very core
    }
  }
}

void ThreadPool::DrainTasks(int thread_index) {
  for (;;) {
    const int64_t task = next_task_.fetch_add(1, std::memory_order_relaxed);
    if (task >= task_count_) return;
    function_(context_, task, thread_index);
  }
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

void ThreadPool::WorkerLoop(int thread_index) {
  const ScopedFlushDenormals flush_denormals;
  uint32_t seen_loop = 0;
  int spins = 0;
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (TryJoin(seen_loop)) {
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
        return stopping_.load() || (LoopOf(state) != seen_loop && (state & kOpen) != 0);
      });
      spins = 0;
    }
  }
}

}  // namespace weft
