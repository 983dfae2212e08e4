#include "server/commands/bench_command.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "base/checked_math.h"
#include "base/float_env.h"
#include "base/format_bytes.h"
#include "base/numa.h"
#include "base/resources.h"
#include "base/thread_pool.h"
#include "engine/transformer_runner.h"
#include "model/checkpoint.h"
#include "model/kernel_choice.h"
#include "model/kernels/blas.h"
#include "model/load.h"
#include "server/commands/bench/encode.h"
#include "server/commands/bench/mixed_load.h"
#include "server/commands/bench/options.h"
#include "server/commands/bench/report.h"
#include "server/commands/bench/steps.h"
#include "server/commands/command_line.h"
#include "server/metrics/machine_limits.h"
#include "server/metrics/step_floor.h"
#include "server/models/model_path.h"

namespace weft {
namespace {

// What goes on, on stderr if that is a terminal: the next line replaces it.
class Progress {
 public:
  ~Progress() { Show(""); }
  void Show(std::string_view text) const {
    if (!is_terminal_) return;
    fmt::print(stderr, "\r\033[K{}", text);
    std::fflush(stderr);
  }

 private:
  const bool is_terminal_ = isatty(STDERR_FILENO) == 1;
};

void PrintRow(const BenchRow& row, const BenchOptions& options, const MachineLimits* limits,
              const Progress& progress) {
  progress.Show("");
  if (options.json) {
    fmt::print("{}\n", FormatJson(row, limits));
  } else {
    fmt::print("{}", FormatTableRow(row));
  }
  std::fflush(stdout);
}

// What the options leave open.
void FillIn(const ModelSpec& spec, BenchOptions& options) {
  const auto fill = [](std::vector<int32_t>& values, std::vector<int32_t> otherwise) {
    if (values.empty()) values = std::move(otherwise);
  };
  using Numbers = std::vector<int32_t>;
  if (spec.is_encoder) {
    Numbers lengths = {16, 128, 512};
    std::erase_if(lengths, [&](int32_t length) { return length > spec.context_length; });
    fill(options.prompt_tokens, lengths.empty() ? Numbers{1} : lengths);
    fill(options.batches, {1, 64});
  } else {
    fill(options.prompt_tokens, {512});
    fill(options.batches, {1, 4, 16, 64});
  }
  fill(options.contexts, {options.prompt_tokens.front()});
}

int64_t BlockCount(const BenchOptions& options) {
  const auto largest = [](const std::vector<int32_t>& values) {
    return int64_t{*std::max_element(values.begin(), values.end())};
  };
  const int64_t decode_blocks =
      largest(options.batches) *
      CeilDivide(largest(options.contexts) + options.generate_tokens, kBenchBlockSize);
  return std::max({decode_blocks, CeilDivide(largest(options.prompt_tokens), kBenchBlockSize),
                   MixedLoadBlocks(options)});
}

// Rows of the largest step.
int32_t MaxRows(const BenchOptions& options) {
  return std::max({options.max_batch_tokens, options.mixed_streams + 1,
                   *std::max_element(options.batches.begin(), options.batches.end())});
}

// What the tests hold at a time. They may go beyond the context that the model was made for.
std::vector<StateGroup> GroupsFor(const ModelSpec& spec, const BenchOptions& options) {
  const int64_t block_count = BlockCount(options);
  const int64_t context = block_count * kBenchBlockSize;
  const int64_t sequence_count = std::max(
      options.mixed_streams + 1, *std::max_element(options.batches.begin(), options.batches.end()));
  std::vector<StateGroup> groups = StateGroupsOf(spec, context);
  for (StateGroup& group : groups) {
    const int64_t held = group.MostBlocks(context, MaxRows(options), kBenchBlockSize);
    group.block_count = std::min(block_count, sequence_count * held);
  }
  return groups;
}

TransformerRunnerOptions RunnerOptionsFor(const ModelSpec& spec, const BenchOptions& options,
                                          int thread_count) {
  if (spec.is_encoder) return EncodeRunnerOptions(spec, options, thread_count);
  return {.block_size = kBenchBlockSize,
          .groups = GroupsFor(spec, options),
          .max_batch_tokens = MaxRows(options),
          .thread_count = thread_count};
}

// What an encoder makes of texts: embeddings, or else labels or sparse vectors.
PoolingParams PoolingOf(const ModelSpec& spec) {
  PoolingParams pooling = {.pooling = spec.pooling};
  for (const PooledOutput output :
       {PooledOutput::kSparse, PooledOutput::kLabels, PooledOutput::kEmbedding}) {
    if (spec.makes(output)) pooling.output = output;
  }
  return pooling;
}

Result<void> CheckModel(const ModelSpec& spec, const BenchOptions& options) {
  if (spec.encoder != nullptr) {
    return Fail(ErrorCode::kUnsupported, "{} is an encoder-decoder: there is no bench for it yet",
                options.model_path);
  }
  for (const int32_t tokens : options.prompt_tokens) {
    if (spec.is_encoder && tokens > spec.context_length) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--prompt-tokens {} is more than the {} positions that the model was made for",
                  tokens, spec.context_length);
    }
  }
  return {};
}

Result<void> CheckMemory(const Checkpoint& checkpoint, const KernelTable& kernels,
                         const TransformerRunnerOptions& runner) {
  const auto weights = static_cast<uint64_t>(Weights::PackedBytes(checkpoint.tensors, kernels));
  const auto workspace = static_cast<uint64_t>(TransformerRunner::WorkspaceBytes(
      checkpoint.spec, kernels, HasF16(checkpoint.tensors), runner));
  uint64_t cache = 0;
  for (const StateGroup& group : runner.groups) {
    cache +=
        static_cast<uint64_t>(group.block_count * KvCache::BlockBytes(checkpoint.spec, group,
                                                                      kernels, runner.block_size));
  }
  const uint64_t available = AvailableMemoryBytes();
  if (weights + workspace + cache <= available) return {};
  return Fail(ErrorCode::kResourceExhausted,
              "weights take {}, intermediate results {} and the KV cache of these tests {}, more "
              "than the {} that this process may use; lower --batch, --context or --mixed",
              FormatBytes(weights), FormatBytes(workspace), FormatBytes(cache),
              FormatBytes(available));
}

// All tests, the mixed one last: it takes the runner.
Result<void> RunTests(std::unique_ptr<TransformerRunner> runner, const BenchOptions& options,
                      const ModelCost& cost, const MachineLimits* limits,
                      const Progress& progress) {
  const ScopedFlushDenormals flush_denormals;
  StepBench steps(*runner, options, cost, limits);
  progress.Show("warming up");
  WEFT_RETURN_IF_ERROR(steps.WarmUp());
  for (const int32_t tokens : options.prompt_tokens) {
    progress.Show(fmt::format("prefill of {} tokens", tokens));
    WEFT_ASSIGN_OR_RETURN(const BenchRow row, steps.Prefill(tokens));
    PrintRow(row, options, limits, progress);
  }
  for (const int32_t context : options.contexts) {
    for (const int32_t batch : options.batches) {
      progress.Show(fmt::format("decode of {} sequences behind {} tokens", batch, context));
      WEFT_ASSIGN_OR_RETURN(const BenchRow row, steps.Decode(batch, context));
      PrintRow(row, options, limits, progress);
    }
  }
  if (options.mixed_streams == 0) return {};
  progress.Show(fmt::format("{} streams and a prompt", options.mixed_streams));
  WEFT_ASSIGN_OR_RETURN(const BenchRow row,
                        MeasureMixedLoad(std::move(runner), options, cost, limits));
  PrintRow(row, options, limits, progress);
  return {};
}

Result<void> Bench(BenchOptions options) {
  WEFT_ASSIGN_OR_RETURN(options.model_path, FindModel(options.model_path, 0));
  WEFT_ASSIGN_OR_RETURN(const Isa isa, ChooseIsa());
  if (options.arithmetic == Arithmetic::kF32) WEFT_RETURN_IF_ERROR(LoadBlas());
  WEFT_ASSIGN_OR_RETURN(Checkpoint checkpoint, LoadCheckpoint(options.model_path));
  ChooseWeights(checkpoint.tensors, options.weights, options.arithmetic, isa,
                checkpoint.spec.head.linear.weights);
  WEFT_RETURN_IF_ERROR(CheckModel(checkpoint.spec, options));
  FillIn(checkpoint.spec, options);
  WEFT_ASSIGN_OR_RETURN(
      const KernelTable* chosen,
      KernelsForModel(checkpoint,
                      {.isa = isa, .arithmetic = options.arithmetic, .kv_type = options.kv_type}));
  const KernelTable& kernels = *chosen;
  ThreadPool threads(options.thread_count > 0 ? options.thread_count : AvailableCpuCount(),
                     NumaNodes());
  const TransformerRunnerOptions runner_options =
      RunnerOptionsFor(checkpoint.spec, options, threads.thread_count());
  WEFT_RETURN_IF_ERROR(CheckMemory(checkpoint, kernels, runner_options));

  const Progress progress;
  std::optional<MachineLimits> limits;
  if (options.measure_limits) {
    progress.Show("measuring the machine");
    limits = MeasureLimits(threads, isa);
  }
  if (!options.json) {
    progress.Show("");
    fmt::print("{} with {} on {} threads\n", options.model_path, kernels.name,
               threads.thread_count());
    if (limits) fmt::print("{}", FormatLimits(*limits, threads.thread_count()));
    fmt::print("\n{}", FormatTableHead(limits.has_value()));
  }
  const ModelCost cost = CostOf(checkpoint, kernels, kBenchBlockSize);
  WEFT_ASSIGN_OR_RETURN(
      Transformer transformer,
      LoadTransformer(checkpoint, kernels, threads, [&](int64_t done_bytes, int64_t total_bytes) {
        if (total_bytes > 0)
          progress.Show(fmt::format("loading: {}%", done_bytes * 100 / total_bytes));
        return true;
      }));
  auto runner = std::make_unique<TransformerRunner>(std::move(transformer), runner_options);
  const MachineLimits* const against = limits ? &*limits : nullptr;
  if (!checkpoint.spec.is_encoder) {
    return RunTests(std::move(runner), options, cost, against, progress);
  }
  progress.Show("encoding");
  return MeasureEncoding(std::move(runner), PoolingOf(checkpoint.spec), options, cost, against,
                         [&](const BenchRow& row) {
                           PrintRow(row, options, against, progress);
                           progress.Show("encoding");
                         });
}

}  // namespace

int BenchCommand(int argc, const char* const* argv) {
  BenchOptions options;
  CLI::App app("", "weft bench");
  AddBenchFlags(app, options);
  if (const auto status = ParseOrExit(app, argc, argv)) return *status;
  const Result<void> measured = Bench(std::move(options));
  return measured ? 0 : FailCommand(app, measured.error());
}

}  // namespace weft
