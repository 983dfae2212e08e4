#include "server/models/loaded_model.h"

#include <chrono>
#include <new>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/log.h"
#include "base/numa.h"
#include "base/resources.h"
#include "engine/transformer_runner.h"
#include "model/kernels/blas.h"
#include "model/kv_cache.h"
#include "model/load.h"
#include "model/rope.h"
#include "server/metrics/engine_meter.h"
#include "server/metrics/engine_metrics.h"
#include "server/metrics/metered_runner.h"
#include "server/metrics/step_floor.h"

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

void LogFacts(const Checkpoint& checkpoint, bool quantize, const KernelTable& kernels,
              const MemoryPlan& memory, const ThreadPool& threads) {
  Log(LogLevel::kInfo, "model {}: {}, {}, {}, {}", checkpoint.path, checkpoint.spec.architecture,
      checkpoint.format, FormatBytes(checkpoint.file_bytes), checkpoint.tokenizer->description());
  Log(LogLevel::kInfo, "kernels {}{}, KV cache {}, {} threads, context {}", kernels.name,
      quantize ? ", weights quantised to Q8_0" : "", NameOf(kernels.kv_type),
      threads.thread_count(), memory.context);
  if (threads.node_count() > 1) Log(LogLevel::kInfo, "{}", DescribeNodes(threads));
  Log(LogLevel::kInfo, "{}", Describe(memory));
}

EngineOptions EngineOptionsFor(const ModelOptions& options, const ModelSpec& spec,
                               const MemoryPlan& memory,
                               const std::shared_ptr<const Tokenizer>& tokenizer) {
  EngineOptions engine;
  engine.max_context = memory.context;
  engine.max_batch_tokens = options.max_batch_tokens;
  engine.max_sequences = options.max_sequences;
  engine.max_waiting = options.max_waiting;
  engine.is_encoder = spec.is_encoder;
  engine.reads_sources = spec.encoder != nullptr;
  engine.banned_tokens = spec.target.banned;
  engine.max_stall = options.max_stall;
  engine.prefix_cache = options.prefix_cache;
  engine.end_tokens = tokenizer->end_tokens();
  engine.token_bytes = [tokenizer](TokenId id) { return tokenizer->TokenBytes(id); };
  if (options.meter != nullptr) {
    engine.on_step = [meter = options.meter](const StepReport& report) { meter->OnStep(report); };
  }
  return engine;
}

// Says every tenth of the way when it takes long.
PackingProgress ReportProgress() {
  static constexpr std::chrono::seconds kQuiet{2};
  return
      [last = std::chrono::steady_clock::now()](int64_t done_bytes, int64_t total_bytes) mutable {
        const auto now = std::chrono::steady_clock::now();
        if (now - last < kQuiet || total_bytes == 0) return;
        last = now;
        Log(LogLevel::kInfo, "loading: {}%", done_bytes * 100 / total_bytes);
      };
}

}  // namespace

Result<std::unique_ptr<LoadedModel>> LoadedModel::Load(const ModelOptions& options) {
  WEFT_ASSIGN_OR_RETURN(const Isa isa, ChooseIsa());
  if (options.arithmetic == Arithmetic::kF32) WEFT_RETURN_IF_ERROR(LoadBlas());
  const KernelTable& kernels =
      KernelsFor(options.arithmetic, isa, options.kv_type.value_or(KvType::kBF16));
  std::unique_ptr<LoadedModel> model(new LoadedModel(kernels));
  WEFT_ASSIGN_OR_RETURN(model->checkpoint_, LoadCheckpoint(options.path));
  if (options.quantize) QuantizeMatrices(model->checkpoint_.tensors);
  WEFT_RETURN_IF_ERROR(CheckKvType(model->checkpoint_.spec, kernels, options.kv_type));
  const int thread_count = options.thread_count > 0 ? options.thread_count : AvailableCpuCount();

  MemoryRequest request;
  request.limit_bytes = options.memory_bytes > 0 ? options.memory_bytes : AvailableMemoryBytes();
  request.context = options.context;
  request.max_batch_tokens = options.max_batch_tokens;
  request.max_sequences = options.max_sequences;
  request.block_size = kBlockSize;
  request.thread_count = thread_count;
  request.stored_bytes = options.stored_bytes;
  WEFT_ASSIGN_OR_RETURN(model->memory_, PlanMemory(model->checkpoint_, kernels, request));
  ServeContext(model->memory_.context, model->checkpoint_.spec.ropes);
  model->threads_ = std::make_unique<ThreadPool>(thread_count, NumaNodes());
  LogFacts(model->checkpoint_, options.quantize, kernels, model->memory_, *model->threads_);

  ModelCost cost;
  if (options.meter != nullptr) {
    cost = CostOf(model->checkpoint_, kernels, kBlockSize);
    model->limits_ = MeasureLimits(*model->threads_, isa, kMeasuringAtStart);
    options.meter->SetLimits(model->limits_);
  }

  WEFT_ASSIGN_OR_RETURN(
      Transformer transformer,
      LoadTransformer(model->checkpoint_, kernels, *model->threads_, ReportProgress()));
  TransformerRunnerOptions runner;
  runner.block_size = kBlockSize;
  runner.groups = model->memory_.state_groups();
  runner.max_batch_tokens = model->memory_.step_rows;
  runner.thread_count = thread_count;
  try {
    std::unique_ptr<ModelRunner> watched;
    auto plain = std::make_unique<TransformerRunner>(std::move(transformer), runner);
    if (options.meter != nullptr) {
      watched = std::make_unique<MeteredRunner>(std::move(plain), cost, options.meter);
    } else {
      watched = std::move(plain);
    }
    model->engine_ =
        std::make_unique<Engine>(EngineOptionsFor(options, model->checkpoint_.spec, model->memory_,
                                                  model->checkpoint_.tokenizer),
                                 std::move(watched));
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kResourceExhausted,
                "the operating system refused the memory for the KV cache ({}); lower --memory",
                FormatBytes(model->memory_.kv_bytes()));
  }
  return model;
}

EngineFacts LoadedModel::facts() const {
  return {.model = {},
          .architecture = checkpoint_.spec.architecture,
          .kernels = std::string(kernels_.name),
          .kv_type = std::string(NameOf(kernels_.kv_type)),
          .thread_count = thread_count(),
          .context = memory_.context,
          .block_size = kBlockSize,
          .prefix_cache = engine_->options().prefix_cache,
          .memory = memory_,
          .limits = limits_};
}

}  // namespace weft
