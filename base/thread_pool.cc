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
    generation_.fetch_add(1);
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
  busy_workers_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    generation_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  DrainTasks(0);
  // A worker that the operating system has not scheduled yet must still be waited for: it may
  // read this loop's fields late. Yielding gives it the core when cores are shared.
  for (int spins = 0; busy_workers_.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins < kSpinIterations) {
      Pause();
    } else {
      std::this_thread::yield();
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

void ThreadPool::WorkerLoop(int thread_index) {
  const ScopedFlushDenormals flush_denormals;
  uint32_t seen = 0;
  for (;;) {
    for (int spins = 0;
         spins < kSpinIterations && generation_.load(std::memory_order_acquire) == seen; ++spins) {
      Pause();
    }
    if (generation_.load(std::memory_order_acquire) == seen) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return generation_.load(std::memory_order_acquire) != seen; });
    }
    if (stopping_.load()) return;
    ++seen;
    DrainTasks(thread_index);
    busy_workers_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace weft
