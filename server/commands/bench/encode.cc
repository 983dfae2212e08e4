#include "server/commands/bench/encode.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <utility>

#include "base/checked_math.h"
#include "engine/engine.h"
#include "server/commands/bench/steps.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

// That run at once; more of a batch wait. As `weft serve` has it.
constexpr int32_t kMaxSequences = 64;

int32_t LargestOf(const std::vector<int32_t>& values) {
  return *std::max_element(values.begin(), values.end());
}

// A batch of texts that the engine has been given. Events arrive on its thread.
class PendingTexts {
 public:
  explicit PendingTexts(int32_t count) : left_(count) {}

  void Finish(const FinishEvent& event) {
    const std::lock_guard lock(mutex_);
    if (event.reason == FinishReason::kFailed && error_.message.empty()) error_ = event.error;
    if (--left_ == 0) done_.notify_one();
  }
  Result<void> Wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return left_ == 0; });
    return error_.message.empty() ? Result<void>() : tl::unexpected(error_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  int32_t left_;
  Error error_;
};

class TextSink : public TokenSink {
 public:
  explicit TextSink(std::shared_ptr<PendingTexts> texts) : texts_(std::move(texts)) {}
  void OnPromptLogprobs(std::vector<TokenLogprob>) override {}
  void OnPooled(PooledResult) override {}
  void OnTokens(TokensEvent) override {}
  void OnFinish(FinishEvent event) override { texts_->Finish(event); }

 private:
  const std::shared_ptr<PendingTexts> texts_;
};

EngineOptions EngineOptionsFor(const BenchOptions& options) {
  EngineOptions engine;
  engine.is_encoder = true;
  engine.max_context = LargestOf(options.prompt_tokens);
  engine.max_batch_tokens = options.max_batch_tokens;
  engine.max_sequences = kMaxSequences;
  // A batch's last texts may still count when the next one comes.
  engine.max_waiting = 2 * LargestOf(options.batches);
  return engine;
}

class EncodeBench {
 public:
  EncodeBench(std::unique_ptr<TransformerRunner> runner, const PoolingParams& pooling,
              const BenchOptions& options, const ModelCost& cost, const MachineLimits* limits)
      : options_(options),
        cost_(cost),
        limits_(limits),
        pooling_(pooling),
        runner_(*runner),
        engine_(EngineOptionsFor(options), std::move(runner)) {}

  Result<BenchRow> Measure(int32_t token_count, int32_t text_count) {
    WEFT_ASSIGN_OR_RETURN(const double first_seconds, RunOnce(token_count, text_count));
    // So many together that a clock and a waking thread count for nothing.
    constexpr double kRepetitionSeconds = 0.2;
    constexpr double kMostBatches = 1000;
    const auto batches =
        static_cast<int>(std::clamp(kRepetitionSeconds / first_seconds, 1.0, kMostBatches));
    // The engine is idle, and was given nothing since it last said so.
    profile_ = {};
    runner_.set_profile(options_.profile ? &profile_ : nullptr);
    std::vector<double> seconds;  // of a batch, a repetition's mean
    const Clock::time_point start = Clock::now();
    do {
      double sum = 0;
      for (int i = 0; i < batches; ++i) {
        WEFT_ASSIGN_OR_RETURN(const double once, RunOnce(token_count, text_count));
        sum += once;
      }
      seconds.push_back(sum / batches);
    } while (std::ssize(seconds) < options_.repetitions &&
             SecondsOf(Clock::now() - start) < options_.time_limit_s);
    runner_.set_profile(nullptr);
    return RowOf(token_count, text_count, seconds, batches * std::ssize(seconds));
  }

 private:
  // Seconds until the last of the texts is done.
  Result<double> RunOnce(int32_t token_count, int32_t text_count) {
    const auto texts = std::make_shared<PendingTexts>(text_count);
    const auto sink = std::make_shared<TextSink>(texts);
    std::vector<Request> requests(static_cast<size_t>(text_count));
    const auto vocab_size = static_cast<uint64_t>(runner_.vocab_size());
    const RequestId job = engine_.NextId();
    for (Request& request : requests) {
      request.id = engine_.NextId();
      request.job_id = job;
      for (int32_t i = 0; i < token_count; ++i) {
        request.prompt.push_back(static_cast<TokenId>(random_() % vocab_size));
      }
      request.sampling.max_tokens = 0;
      request.pooling = pooling_;
      request.sink = sink;
    }
    const Clock::time_point start = Clock::now();
    for (Request& request : requests) WEFT_RETURN_IF_ERROR(engine_.Submit(std::move(request)));
    WEFT_RETURN_IF_ERROR(texts->Wait());
    return SecondsOf(Clock::now() - start);
  }

  // `seconds`: of a batch, `batch_count` of them in all.
  BenchRow RowOf(int32_t token_count, int32_t text_count, const std::vector<double>& seconds,
                 int64_t batch_count) const {
    const double median = Median(seconds);
    BenchRow row;
    row.test = "encode";
    row.size = token_count;
    row.encode = EncodeFigures{.texts = text_count, .texts_per_s = text_count / median};
    row.tokens_per_s = static_cast<double>(token_count) * text_count / median;
    // As many texts a step as fit into one.
    const int32_t together = std::clamp(options_.max_batch_tokens / token_count, 1, kMaxSequences);
    const int64_t step_count = CeilDivide(text_count, together);
    row.step_seconds = median / static_cast<double>(step_count);
    row.spread = SpreadOf(seconds);
    row.repetitions = static_cast<int>(seconds.size());
    if (limits_ != nullptr) {
      StepWork work;
      for (int32_t first = 0; first < text_count; first += together) {
        const std::vector<SequenceShape> shapes(
            static_cast<size_t>(std::min(together, text_count - first)), {0, token_count});
        work.Add(CountWork(cost_, shapes, 0));
      }
      row.floor = FloorOf(work, *limits_);
      row.floor->seconds /= static_cast<double>(step_count);
    }
    if (options_.profile) {
      row.profile = profile_;
      row.profiled_steps = step_count * batch_count;
    }
    return row;
  }

  const BenchOptions& options_;
  const ModelCost& cost_;
  const MachineLimits* const limits_;
  const PoolingParams pooling_;
  TransformerRunner& runner_;  // the engine's
  StepProfile profile_;        // outlives the engine
  std::mt19937_64 random_{3};  // NOLINT(cert-msc51-cpp): every run measures the same
  Engine engine_;
};

}  // namespace

TransformerRunnerOptions EncodeRunnerOptions(const ModelSpec& spec, const BenchOptions& options,
                                             int thread_count) {
  const EngineOptions engine = EngineOptionsFor(options);
  TransformerRunnerOptions runner = {.block_size = kBenchBlockSize,
                                     .groups = StateGroupsOf(spec, engine.max_context),
                                     .max_batch_tokens = engine.rows_of_a_step(),
                                     .max_sequences = kMaxSequences,
                                     .thread_count = thread_count};
  for (StateGroup& group : runner.groups) {
    group.block_count =
        CeilDivide(int64_t{runner.max_batch_tokens}, kBenchBlockSize) + 2 * kMaxSequences;
  }
  return runner;
}

Result<void> MeasureEncoding(std::unique_ptr<TransformerRunner> runner,
                             const PoolingParams& pooling, const BenchOptions& options,
                             const ModelCost& cost, const MachineLimits* limits,
                             const std::function<void(const BenchRow&)>& print) {
  EncodeBench bench(std::move(runner), pooling, options, cost, limits);
  for (const int32_t token_count : options.prompt_tokens) {
    for (const int32_t text_count : options.batches) {
      WEFT_ASSIGN_OR_RETURN(const BenchRow row, bench.Measure(token_count, text_count));
      print(row);
    }
  }
  return {};
}

}  // namespace weft
