#include "server/bench_command.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/checked_math.h"
#include "base/float_env.h"
#include "base/resources.h"
#include "base/thread_pool.h"
#include "engine/transformer_runner.h"
#include "model/checkpoint.h"
#include "model/kv_cache.h"
#include "model/load.h"
#include "server/bundled_model.h"
#include "server/command_line.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kBlockSize = 32;

struct BenchOptions {
  std::string model_path;
  Arithmetic arithmetic = kAutoArithmetic;
  std::optional<KvType> kv_type;
  int thread_count = 0;
  int32_t prompt_tokens = 512;
  int32_t generate_tokens = 64;
  std::vector<int32_t> batches = {1, 4, 16, 64};
  int repetitions = 3;
  bool json = false;
};

void AddBenchFlags(CLI::App& app, BenchOptions& options) {
  app.add_option("--model", options.model_path,
                 "GGUF file or Hugging Face directory (the bundled model)");
  AddComputeFlags(app, options.arithmetic, options.thread_count);
  AddKvTypeFlag(app, options.kv_type);
  app.add_option("--prompt-tokens", options.prompt_tokens,
                 "Length of the prefill, and the position behind which decoding starts")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--generate-tokens", options.generate_tokens, "Decoding steps")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--batch", options.batches, "Sequences decoded at once, as 1,4,16,64")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  app.add_option("--repetitions", options.repetitions, "Of every test; the median counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", options.json, "A JSON object a line instead of a table");
}

// One step's batch with the storage that its spans need: `sequence_count` sequences of `row_count`
// rows each, from `first_position`, every sequence on blocks of its own, logits wanted for the last
// row of each.
class BenchBatch {
 public:
  BenchBatch(int32_t sequence_count, int32_t row_count, int32_t first_position,
             int64_t vocab_size) {
    const auto blocks_per_sequence =
        static_cast<int32_t>(CeilDivide(first_position + row_count, kBlockSize));
    blocks_.resize(static_cast<size_t>(sequence_count) * static_cast<size_t>(blocks_per_sequence));
    std::iota(blocks_.begin(), blocks_.end(), 0);
    for (int32_t sequence = 0; sequence < sequence_count; ++sequence) {
      const auto first_row = static_cast<int32_t>(token_ids_.size());
      for (int32_t row = 0; row < row_count; ++row) {
        const int64_t mixed = (int64_t{first_position} + row) * 7919 + int64_t{sequence} * 104'729;
        token_ids_.push_back(static_cast<TokenId>(mixed % vocab_size));
        positions_.push_back(first_position + row);
      }
      sequences_.push_back({.first_row = first_row,
                            .row_count = row_count,
                            .first_position = first_position,
                            .block_table = std::span(blocks_).subspan(
                                static_cast<size_t>(sequence * blocks_per_sequence),
                                static_cast<size_t>(blocks_per_sequence))});
      logit_rows_.push_back(first_row + row_count - 1);
    }
    phases_.assign(token_ids_.size(), row_count > 1 ? TokenPhase::kPrompt : TokenPhase::kGenerated);
  }

  ForwardBatch view() const {
    return {.token_ids = token_ids_,
            .positions = positions_,
            .phases = phases_,
            .sequences = sequences_,
            .logit_rows = logit_rows_};
  }

 private:
  std::vector<TokenId> token_ids_;
  std::vector<int32_t> positions_;
  std::vector<TokenPhase> phases_;
  std::vector<int32_t> blocks_;
  std::vector<SequenceSpan> sequences_;
  std::vector<int32_t> logit_rows_;
};

Result<double> TimeStep(TransformerRunner& runner, const BenchBatch& batch) {
  const Clock::time_point start = Clock::now();
  WEFT_RETURN_IF_ERROR(runner.Run(batch.view(), [](int64_t, int, float*) {}));
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<double> TimePrefill(TransformerRunner& runner, const BenchOptions& options) {
  return TimeStep(runner, BenchBatch(1, options.prompt_tokens, 0, runner.vocab_size()));
}

// The KV cache before the first position holds zeros or an earlier test's values: they cost what
// any others do.
Result<double> TimeDecode(TransformerRunner& runner, const BenchOptions& options,
                          int32_t batch_size) {
  double seconds = 0;
  for (int32_t step = 0; step < options.generate_tokens; ++step) {
    const BenchBatch batch(batch_size, 1, options.prompt_tokens + step, runner.vocab_size());
    WEFT_ASSIGN_OR_RETURN(const double step_seconds, TimeStep(runner, batch));
    seconds += step_seconds;
  }
  return seconds;
}

void PrintRow(const BenchOptions& options, const std::string& test, int32_t size,
              double tokens_per_s) {
  if (!options.json) {
    fmt::print("{:<10}{:>8}{:>14.1f}\n", test, size, tokens_per_s);
    return;
  }
  const nlohmann::json row = {{"test", test},
                              {test == "prefill" ? "tokens" : "batch", size},
                              {"tokens_per_s", tokens_per_s}};
  fmt::print("{}\n", row.dump());
}

// Runs `time` once to warm up, then as often as asked for; the median.
template <typename Time>
Result<double> MedianSeconds(int repetitions, Time time) {
  WEFT_RETURN_IF_ERROR(time());
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    WEFT_ASSIGN_OR_RETURN(const double once, time());
    seconds.push_back(once);
  }
  std::nth_element(seconds.begin(), seconds.begin() + repetitions / 2, seconds.end());
  return seconds[static_cast<size_t>(repetitions / 2)];
}

Result<void> Bench(BenchOptions options) {
  if (options.model_path.empty()) {
    WEFT_ASSIGN_OR_RETURN(options.model_path, FindBundledModel());
  }
  WEFT_ASSIGN_OR_RETURN(const Isa isa, ChooseIsa());
  const KernelTable& kernels =
      KernelsFor(options.arithmetic, isa, options.kv_type.value_or(KvType::kBF16));
  ThreadPool threads(options.thread_count > 0 ? options.thread_count : AvailableCpuCount());
  WEFT_ASSIGN_OR_RETURN(Checkpoint checkpoint, LoadCheckpoint(options.model_path));
  WEFT_RETURN_IF_ERROR(CheckKvType(checkpoint.config, kernels, options.kv_type));
  WEFT_ASSIGN_OR_RETURN(Transformer transformer, LoadTransformer(checkpoint, kernels, threads));

  const int32_t largest_batch = *std::max_element(options.batches.begin(), options.batches.end());
  const int64_t blocks_per_sequence =
      CeilDivide(int64_t{options.prompt_tokens} + options.generate_tokens, kBlockSize);
  TransformerRunner runner(std::move(transformer),
                           {.block_size = kBlockSize,
                            .block_count = blocks_per_sequence * largest_batch,
                            .max_batch_tokens = std::max(options.prompt_tokens, largest_batch),
                            .thread_count = threads.thread_count()});
  const ScopedFlushDenormals flush_denormals;
  if (!options.json) {
    fmt::print("{} with {} on {} threads\n\n{:<10}{:>8}{:>14}\n", options.model_path, kernels.name,
               threads.thread_count(), "test", "size", "tokens/s");
  }
  WEFT_ASSIGN_OR_RETURN(const double prefill_seconds, MedianSeconds(options.repetitions, [&] {
                          return TimePrefill(runner, options);
                        }));
  PrintRow(options, "prefill", options.prompt_tokens, options.prompt_tokens / prefill_seconds);
  for (const int32_t batch : options.batches) {
    WEFT_ASSIGN_OR_RETURN(const double seconds, MedianSeconds(options.repetitions, [&] {
                            return TimeDecode(runner, options, batch);
                          }));
    PrintRow(options, "decode", batch,
             static_cast<double>(batch) * options.generate_tokens / seconds);
  }
  return {};
}

}  // namespace

int BenchCommand(int argc, const char* const* argv) {
  BenchOptions options;
  CLI::App app("Times the model alone, without a server, on arbitrary token ids.", "weft bench");
  AddBenchFlags(app, options);
  if (const auto status = ParseOrExit(app, argc, argv)) return *status;
  const Result<void> measured = Bench(std::move(options));
  return measured ? 0 : FailCommand(app, measured.error());
}

}  // namespace weft
