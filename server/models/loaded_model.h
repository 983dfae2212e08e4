// A model file made ready to run: weights packed, memory allocated, engine started.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
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
#include "model/parameters.h"
#include "server/metrics/machine_limits.h"
#include "server/models/memory_plan.h"

namespace weft {

class EngineMeter;
struct EngineFacts;

// What the models of a process compute with.
struct Compute {
  Isa isa{};
  std::shared_ptr<ThreadPool> threads;
  MachineLimits limits = {};
};

struct ModelOptions {
  std::string path;
  std::optional<Arithmetic> arithmetic = {};  // nullopt: AutoArithmetic
  WeightsChoice weights = {};
  std::optional<KvType> kv_type;  // nullopt: what suits the model (KernelsForModel)
  std::string packed_cache = {};  // a directory for packed weights (LoadTransformer)
  int32_t thread_count = 0;       // 0: what this process may use
  uint64_t memory_bytes = 0;      // 0: what this process may use
  uint64_t stored_bytes = 0;      // of it, for what the server keeps besides
  int32_t context = 0;            // 0: the model's
  int32_t max_batch_tokens = 512;
  int32_t max_sequences = 64;
  int32_t max_waiting = 1024;
  std::chrono::milliseconds max_stall{100};  // see EngineOptions
  bool prefix_cache = true;
  bool leaves_room = false;  // for models that come later: a share as if there were one more
  // How far loading is, now and then where it takes long; by the thread that loads. May be empty.
  std::function<void(int percent)> on_progress = {};
  // Counts what the engine does; then the machine is measured, too, before the weights are loaded.
  // nullptr: nobody asks.
  std::shared_ptr<EngineMeter> meter;
};

// Call it once and before other threads start: it may ask the operating system for AMX. With
// `measures_machine` there are limits.
Result<Compute> SetUpCompute(const ModelOptions& options, bool measures_machine);

class LoadedModel {
 public:
  // Sets computing up and reads the file, which may take minutes; says on the log what it found and
  // decided.
  static Result<std::unique_ptr<LoadedModel>> Load(const ModelOptions& options);
  // The same for several, whose files are open, in their order; they share the memory
  // (PlanMemories) and the compute threads. The options agree in all but `path` and `meter`. A
  // context that one model has is no error of those with fewer positions: they have theirs. A KV
  // type is for what is kept of texts, so encoders beside other models have what goes with the
  // arithmetic.
  static Result<std::vector<std::unique_ptr<LoadedModel>>> LoadAll(
      std::span<const ModelOptions> options, std::vector<Checkpoint> files, const Compute& compute);

  Engine& engine() { return *engine_; }
  // Its tensors and files are gone.
  const Checkpoint& checkpoint() const { return checkpoint_; }
  const TensorTotals& totals() const { return totals_; }
  bool has_f16() const { return has_f16_; }  // HasF16 of its tensors
  const MemoryPlan& memory() const { return memory_; }
  const KernelTable& kernels() const { return *kernels_; }
  // But for the model's name in requests.
  EngineFacts facts() const;
  int thread_count() const { return threads_->thread_count(); }

 private:
  friend class LoadableModel;

  LoadedModel() = default;

  using Models = std::vector<std::unique_ptr<LoadedModel>>;

  static std::unique_ptr<LoadedModel> Of(const ModelOptions& options, Isa isa, Checkpoint file);
  static Result<void> ChooseKernels(const ModelOptions& options, Isa isa, Models& models);
  static Result<void> PlanAll(const ModelOptions& options, int thread_count, Models& models);
  // Weights, cache and engine, where the rest is there. An error once `stops` says so; empty: it
  // never does.
  Result<void> Start(const ModelOptions& options, const Compute& compute,
                     const std::function<bool()>& stops);

  Checkpoint checkpoint_;
  TensorTotals totals_;
  bool has_f16_ = false;
  const KernelTable* kernels_ = nullptr;
  MemoryPlan memory_;
  MachineLimits limits_;                 // measured if there is a meter
  std::shared_ptr<ThreadPool> threads_;  // the engines compute on it: outlives them
  std::unique_ptr<Engine> engine_;
};

// One more model for a process that serves: its files are open, so that it is known what it would
// take, and nothing of it is allocated.
class LoadableModel {
 public:
  // A context of the options that is longer than the model's is no error: it has its own. A KV type
  // is not that of encoders.
  static Result<LoadableModel> Open(const ModelOptions& options, const Compute& compute);

  uint64_t weight_bytes() const { return least_.weight_bytes; }
  // With the weights a workspace, and the KV cache of the options' context; without one that of the
  // model's, or of 4096 positions if it has more.
  uint64_t least_bytes() const { return least_.least_bytes; }
  // Within so many bytes, no fewer than least_bytes(); says on the log what was decided. Once. From
  // any thread: beside running streams it takes its part of the compute threads' time. Ends with an
  // error soon after `stops` says so.
  Result<std::unique_ptr<LoadedModel>> Load(uint64_t bytes, const std::function<bool()>& stops);

 private:
  LoadableModel() = default;

  ModelOptions options_;
  Compute compute_;
  std::unique_ptr<LoadedModel> model_;
  MemoryPlan least_;
};

}  // namespace weft
