// A model file made ready to run: weights packed, memory allocated, engine started.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "engine/engine.h"
#include "model/checkpoint.h"
#include "model/inspect.h"
#include "model/kernels/kernels.h"
#include "server/metrics/machine_limits.h"
#include "server/models/memory_plan.h"

namespace weft {

class EngineMeter;
struct EngineFacts;

struct ModelOptions {
  std::string path;
  Arithmetic arithmetic = kAutoArithmetic;
  bool quantize = false;          // QuantizeMatrices
  std::optional<KvType> kv_type;  // nullopt: what goes with the arithmetic
  int32_t thread_count = 0;       // 0: what this process may use
  uint64_t memory_bytes = 0;      // 0: what this process may use
  uint64_t stored_bytes = 0;      // of it, for what the server keeps besides
  int32_t context = 0;            // 0: the model's
  int32_t max_batch_tokens = 512;
  int32_t max_sequences = 64;
  int32_t max_waiting = 1024;
  std::chrono::milliseconds max_stall{100};  // see EngineOptions
  bool prefix_cache = true;
  // Counts what the engine does; then the machine is measured, too, before the weights are loaded.
  // nullptr: nobody asks.
  std::shared_ptr<EngineMeter> meter;
};

class LoadedModel {
 public:
  // Reads the file, which may take minutes; says on the log what it found and decided. Call it
  // before other threads start: it may ask the operating system for AMX.
  static Result<std::unique_ptr<LoadedModel>> Load(const ModelOptions& options);
  // The same for several, which share the memory (PlanMemories) and the compute threads. The
  // options agree in all but `path` and `meter`. A context that one model has is no error of those
  // with fewer positions: they have theirs. A KV type is for what is kept of texts, so encoders
  // beside other models have what goes with the arithmetic.
  static Result<std::vector<std::unique_ptr<LoadedModel>>> LoadAll(
      std::span<const ModelOptions> options);

  Engine& engine() { return *engine_; }
  // Its tensors and files are gone.
  const Checkpoint& checkpoint() const { return checkpoint_; }
  const TensorTotals& totals() const { return totals_; }
  const MemoryPlan& memory() const { return memory_; }
  // But for the model's name in requests.
  EngineFacts facts() const;
  int thread_count() const { return threads_->thread_count(); }

 private:
  LoadedModel() = default;

  using Models = std::vector<std::unique_ptr<LoadedModel>>;

  static Result<std::unique_ptr<LoadedModel>> Open(const ModelOptions& options);
  static Result<void> ChooseKernels(const ModelOptions& options, Isa isa, Models& models);
  static Result<void> PlanAll(const ModelOptions& options, int thread_count, Models& models);
  // Weights, cache and engine, where the rest is there.
  Result<void> Start(const ModelOptions& options);

  Checkpoint checkpoint_;
  TensorTotals totals_;
  const KernelTable* kernels_ = nullptr;
  MemoryPlan memory_;
  MachineLimits limits_;                 // measured if there is a meter
  std::shared_ptr<ThreadPool> threads_;  // the engines compute on it: outlives them
  std::unique_ptr<Engine> engine_;
};

}  // namespace weft
