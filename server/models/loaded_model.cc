#include "server/models/loaded_model.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/log.h"
#include "base/numa.h"
#include "base/resources.h"
#include "engine/transformer_runner.h"
#include "model/kernel_choice.h"
#include "model/kernels/blas.h"
#include "model/load.h"
#include "model/rope.h"
#include "server/metrics/engine_meter.h"
#include "server/metrics/engine_metrics.h"
#include "server/metrics/metered_runner.h"
#include "server/metrics/step_floor.h"
#include "server/models/memory_reserve.h"

namespace weft {
namespace {

constexpr int64_t kBlockSize = 32;  // positions
// Readiness waits for it, and the first touch of memory can be slow: 0.2 GB/s were seen in a
// virtual machine.
constexpr MeasuringEffort kMeasuringAtStart = {.each = std::chrono::milliseconds(20),
                                               .read_bytes = int64_t{64} << 20};

// "2 NUMA nodes with 32 + 31 threads"
std::string DescribeNodes(const ThreadPool& threads) {
  std::string text = fmt::format("{} NUMA nodes with ", threads.node_count());
  for (int node = 0; node < threads.node_count(); ++node) {
    text += fmt::format("{}{}", node == 0 ? "" : " + ", threads.node_thread_count(node));
  }
  return text + " threads";
}

void LogFacts(const Checkpoint& checkpoint, const KernelTable& kernels, const MemoryPlan& memory,
              const ThreadPool& threads) {
  Log(LogLevel::kInfo, "model {}: {}, {}, {}, {}", checkpoint.path, checkpoint.spec.architecture,
      checkpoint.format, FormatBytes(checkpoint.file_bytes), checkpoint.tokenizer->description());
  Log(LogLevel::kInfo, "kernels {}, KV cache {}, {} threads, context {}", kernels.name,
      NameOf(kernels.kv_type), threads.thread_count(), memory.context);
  const std::string conversion = DescribeConversion(checkpoint.tensors);
  if (!conversion.empty()) {
    Log(LogLevel::kInfo, "weights converted while they are loaded: {}", conversion);
  }
  if (threads.node_count() > 1) Log(LogLevel::kInfo, "{}", DescribeNodes(threads));
  Log(LogLevel::kInfo, "{}", Describe(memory));
}

// Of a model that generates: what its weights would be worth in Q8_0, where that is less than what
// they are held in.
void LogGainOfQ8_0(Checkpoint& checkpoint, const ModelCost& cost, const KernelTable& kernels,
                   const MachineLimits& limits) {
  constexpr double kWorthSaying = 0.9;
  if (checkpoint.spec.is_encoder) return;
  const auto bytes_of = [](const ModelCost& each) {
    const std::array<SequenceShape, 1> one_token = {};
    return CountWork(each, one_token, /*logit_row_count=*/1).bytes;
  };
  const ModelTensors as_stored = checkpoint.tensors;
  QuantizeMatrices(checkpoint.tensors, DataType::kQ8_0, checkpoint.spec.head.linear.weights);
  const double fewer = bytes_of(CostOf(checkpoint, kernels, kBlockSize));
  checkpoint.tensors = as_stored;
  const double bytes = bytes_of(cost);
  if (fewer > kWorthSaying * bytes) return;
  const double rate = limits.read_bytes_per_s;
  Log(LogLevel::kInfo,
      "weights are not quantised: a token reads {} of them, {} with --weights q8_0{}",
      FormatBytes(static_cast<uint64_t>(bytes)), FormatBytes(static_cast<uint64_t>(fewer)),
      rate > 0 ? fmt::format(", so that memory allows {:.3g} and {:.3g} tokens/s", rate / bytes,
                             rate / fewer)
               : "");
}

EngineOptions EngineOptionsFor(const ModelOptions& options, const ModelSpec& spec,
                               const MemoryPlan& memory,
                               const std::shared_ptr<const Tokenizer>& tokenizer,
                               ThreadPool& threads) {
  EngineOptions engine;
  engine.max_context = memory.context;
  engine.max_batch_tokens = options.max_batch_tokens;
  engine.max_sequences = options.max_sequences;
  engine.max_waiting = options.max_waiting;
  engine.is_encoder = spec.is_encoder;
  engine.reads_sources = spec.encoder != nullptr;
  engine.keeps_states = std::ranges::any_of(
      memory.groups, [](const GroupMemory& each) { return each.group.is_recurrent; });
  engine.banned_tokens = spec.target.banned;
  engine.max_stall = options.max_stall;
  engine.prefix_cache = options.prefix_cache;
  engine.end_tokens = tokenizer->end_tokens();
  engine.token_bytes = [tokenizer](TokenId id) { return tokenizer->TokenBytes(id); };
  engine.run_beside = [&threads](std::function<void()> task) { threads.Post(std::move(task)); };
  if (options.meter != nullptr) {
    engine.on_step = [meter = options.meter](const StepReport& report) { meter->OnStep(report); };
  }
  return engine;
}

// Says every tenth of the way when it takes long.
PackingProgress ReportProgress(const std::function<bool()>& stops,
                               const std::function<void(int percent)>& on_progress) {
  static constexpr std::chrono::seconds kQuiet{2};
  return [last = std::chrono::steady_clock::now(), stops, on_progress](
             int64_t done_bytes, int64_t total_bytes) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (now - last >= kQuiet && total_bytes > 0) {
      last = now;
      const auto percent = static_cast<int>(done_bytes * 100 / total_bytes);
      Log(LogLevel::kInfo, "loading: {}%", percent);
      if (on_progress) on_progress(percent);
    }
    return !stops || !stops();
  };
}

MemoryRequest RequestFor(const ModelOptions& options, int thread_count) {
  MemoryRequest request;
  request.limit_bytes = options.memory_bytes > 0 ? options.memory_bytes : AvailableMemoryBytes();
  request.max_batch_tokens = options.max_batch_tokens;
  request.max_sequences = options.max_sequences;
  request.block_size = kBlockSize;
  request.thread_count = thread_count;
  request.prefix_cache = options.prefix_cache;
  request.stored_bytes = options.stored_bytes;
  request.later_shares = options.leaves_room ? 1 : 0;
  return request;
}

}  // namespace

Result<Compute> SetUpCompute(const ModelOptions& options, bool measures_machine) {
  Compute compute;
  WEFT_ASSIGN_OR_RETURN(compute.isa, ChooseIsa());
  if (options.arithmetic == Arithmetic::kF32) WEFT_RETURN_IF_ERROR(LoadBlas());
  const int thread_count = options.thread_count > 0 ? options.thread_count : AvailableCpuCount();
  compute.threads = std::make_shared<ThreadPool>(thread_count, NumaNodes());
  if (measures_machine) {
    compute.limits = MeasureLimits(*compute.threads, compute.isa, kMeasuringAtStart);
  }
  return compute;
}

Result<std::unique_ptr<LoadedModel>> LoadedModel::Load(const ModelOptions& options) {
  std::vector<Checkpoint> files(1);
  WEFT_ASSIGN_OR_RETURN(files.front(), LoadCheckpoint(options.path));
  WEFT_ASSIGN_OR_RETURN(const Compute compute, SetUpCompute(options, options.meter != nullptr));
  WEFT_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<LoadedModel>> models,
                        LoadAll({&options, 1}, std::move(files), compute));
  return std::move(models.front());
}

Result<std::vector<std::unique_ptr<LoadedModel>>> LoadedModel::LoadAll(
    std::span<const ModelOptions> options, std::vector<Checkpoint> files, const Compute& compute) {
  const ModelOptions& common = options.front();
  std::vector<std::unique_ptr<LoadedModel>> models;
  for (const ModelOptions& each : options) {
    models.push_back(Of(each, compute.isa, std::move(files[models.size()])));
  }
  WEFT_RETURN_IF_ERROR(ChooseKernels(common, compute.isa, models));
  WEFT_RETURN_IF_ERROR(PlanAll(common, compute.threads->thread_count(), models));
  for (size_t i = 0; i < models.size(); ++i) {
    WEFT_RETURN_IF_ERROR(models[i]->Start(options[i], compute, {}));
  }
  return models;
}

std::unique_ptr<LoadedModel> LoadedModel::Of(const ModelOptions& options, Isa isa,
                                             Checkpoint file) {
  std::unique_ptr<LoadedModel> model(new LoadedModel);
  model->checkpoint_ = std::move(file);
  model->totals_ = TotalsOf(model->checkpoint_.tensors);
  ChooseWeights(model->checkpoint_.tensors, options.weights, options.arithmetic, isa,
                model->checkpoint_.spec.head.linear.weights);
  model->has_f16_ = HasF16(model->checkpoint_.tensors);
  return model;
}

Result<void> LoadedModel::ChooseKernels(const ModelOptions& options, Isa isa, Models& models) {
  const bool has_cache = std::ranges::any_of(
      models, [](const auto& model) { return !model->checkpoint_.spec.is_encoder; });
  for (const std::unique_ptr<LoadedModel>& model : models) {
    const bool is_meant = !model->checkpoint_.spec.is_encoder || !has_cache;
    WEFT_ASSIGN_OR_RETURN(model->kernels_,
                          KernelsForModel(model->checkpoint_,
                                          {.isa = isa,
                                           .arithmetic = options.arithmetic,
                                           .kv_type = is_meant ? options.kv_type : std::nullopt}));
  }
  return {};
}

Result<void> LoadedModel::PlanAll(const ModelOptions& options, int thread_count, Models& models) {
  const MemoryRequest request = RequestFor(options, thread_count);
  int64_t longest = 0;
  for (const auto& model : models) {
    longest = std::max(longest, model->checkpoint_.spec.context_length);
  }
  std::vector<PlannedModel> planned;
  for (const auto& model : models) {
    const int64_t own = model->checkpoint_.spec.context_length;
    const bool is_too_few = options.context > own && options.context <= longest;
    planned.push_back({.checkpoint = model->checkpoint_,
                       .kernels = *model->kernels_,
                       .context = is_too_few ? static_cast<int32_t>(own) : options.context});
  }
  WEFT_ASSIGN_OR_RETURN(std::vector<MemoryPlan> plans, PlanMemories(planned, request));
  for (size_t i = 0; i < models.size(); ++i) models[i]->memory_ = std::move(plans[i]);
  return {};
}

Result<void> LoadedModel::Start(const ModelOptions& options, const Compute& compute,
                                const std::function<bool()>& stops) {
  threads_ = compute.threads;
  limits_ = compute.limits;
  ServeContext(memory_.context, checkpoint_.spec.ropes);
  LogFacts(checkpoint_, *kernels_, memory_, *threads_);
  ModelCost cost;
  if (options.meter != nullptr) {
    cost = CostOf(checkpoint_, *kernels_, kBlockSize);
    options.meter->SetLimits(limits_);
    if (!options.weights.type) LogGainOfQ8_0(checkpoint_, cost, *kernels_, limits_);
  }
  WEFT_ASSIGN_OR_RETURN(
      Transformer transformer,
      LoadTransformer(checkpoint_, *kernels_, *threads_, ReportProgress(stops, options.on_progress),
                      options.packed_cache));
  TransformerRunnerOptions runner;
  runner.block_size = kBlockSize;
  runner.groups = memory_.state_groups();
  runner.max_batch_tokens = memory_.step_rows;
  runner.thread_count = thread_count();
  try {
    std::unique_ptr<ModelRunner> watched;
    auto plain = std::make_unique<TransformerRunner>(std::move(transformer), runner);
    if (options.meter != nullptr) {
      watched = std::make_unique<MeteredRunner>(std::move(plain), cost, options.meter);
    } else {
      watched = std::move(plain);
    }
    engine_ = std::make_unique<Engine>(
        EngineOptionsFor(options, checkpoint_.spec, memory_, checkpoint_.tokenizer, *threads_),
        std::move(watched));
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kResourceExhausted,
                "the operating system refused the memory for the KV cache ({}); lower --memory",
                FormatBytes(memory_.kv_bytes()));
  }
  return {};
}

Result<LoadableModel> LoadableModel::Open(const ModelOptions& options, const Compute& compute) {
  constexpr int32_t kLeastContext = 4096;
  constexpr uint64_t kAnyLimit = uint64_t{1} << 50;
  LoadableModel loadable;
  loadable.compute_ = compute;
  loadable.options_ = options;
  WEFT_ASSIGN_OR_RETURN(Checkpoint file, LoadCheckpoint(options.path));
  loadable.model_ = LoadedModel::Of(options, compute.isa, std::move(file));
  const ModelSpec& spec = loadable.model_->checkpoint_.spec;
  WEFT_ASSIGN_OR_RETURN(
      loadable.model_->kernels_,
      KernelsForModel(loadable.model_->checkpoint_,
                      {.isa = compute.isa,
                       .arithmetic = options.arithmetic,
                       .kv_type = spec.is_encoder ? std::nullopt : options.kv_type}));
  const auto own = static_cast<int32_t>(spec.context_length);
  loadable.options_.context = std::min(options.context, own);
  MemoryRequest request = RequestFor(options, compute.threads->thread_count());
  request.limit_bytes = kAnyLimit;
  request.context = options.context > 0 ? loadable.options_.context : std::min(own, kLeastContext);
  WEFT_ASSIGN_OR_RETURN(loadable.least_, PlanMemory(loadable.model_->checkpoint_,
                                                    *loadable.model_->kernels_, request));
  return loadable;
}

Result<std::unique_ptr<LoadedModel>> LoadableModel::Load(uint64_t bytes,
                                                         const std::function<bool()>& stops) {
  MemoryRequest request = RequestFor(options_, compute_.threads->thread_count());
  const uint64_t reserve_bytes = ReserveOf(request.limit_bytes, request.stored_bytes).bytes();
  request.others_bytes = request.limit_bytes - reserve_bytes - bytes;
  request.context = options_.context;
  Result<MemoryPlan> plan = PlanMemory(model_->checkpoint_, *model_->kernels_, request);
  if (!plan || plan->context < least_.context) {
    request.context = least_.context;  // for which there is room
    plan = PlanMemory(model_->checkpoint_, *model_->kernels_, request);
  }
  if (!plan) return tl::unexpected(plan.error());
  model_->memory_ = *std::move(plan);
  WEFT_RETURN_IF_ERROR(model_->Start(options_, compute_, stops));
  return std::move(model_);
}

EngineFacts LoadedModel::facts() const {
  return {.model = {},
          .architecture = checkpoint_.spec.architecture,
          .kernels = std::string(kernels_->name),
          .kv_type = std::string(NameOf(kernels_->kv_type)),
          .thread_count = thread_count(),
          .context = memory_.context,
          .block_size = kBlockSize,
          .prefix_cache = engine_->options().prefix_cache,
          .memory = memory_,
          .limits = limits_};
}

}  // namespace weft
