#include "server/commands/bench/mixed_load.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "engine/engine.h"
#include "server/commands/bench/steps.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int32_t kStreamPromptTokens = 16;
constexpr int32_t kTokensBefore = 16;  // that every stream gets before the prompt arrives
constexpr int32_t kTokensAfter = 4;    // that the prompt's sequence gets

// Every step computes a token of the prompt at least: no stream ends before the prompt is done.
int32_t StreamTokens(const BenchOptions& options) {
  return options.mixed_prompt_tokens + 2 * (kTokensBefore + kTokensAfter);
}

// When each token of one sequence came. Events arrive on the engine thread.
class ArrivalSink : public TokenSink {
 public:
  void OnPromptLogprobs(std::vector<TokenLogprob>) override {}

  void OnPooled(PooledResult) override {}
  void OnTokens(TokensEvent event) override {
    const Clock::time_point now = Clock::now();
    const std::lock_guard lock(mutex_);
    arrivals_.insert(arrivals_.end(), event.tokens.size(), now);
    changed_.notify_one();
  }

  void OnFinish(FinishEvent event) override {
    const std::lock_guard lock(mutex_);
    finished_ = std::move(event);
    changed_.notify_one();
  }

  // Returns when this many tokens have come; an error if the sequence ends before.
  Result<void> WaitForTokens(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrivals_.size() >= count || finished_.has_value(); });
    if (arrivals_.size() >= count) return {};
    return Fail(ErrorCode::kInternal,
                "a sequence of the mixed test ended after {} of {} tokens: {}", arrivals_.size(),
                count, finished_->error.message);
  }

  // All arrivals, when the sequence has ended.
  std::vector<Clock::time_point> WaitForEnd() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return finished_.has_value(); });
    return arrivals_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Clock::time_point> arrivals_;
  std::optional<FinishEvent> finished_;
};

// The steps that the engine ran; it reports on its own thread.
class StepLog {
 public:
  void Add(const StepReport& step) {
    const std::lock_guard lock(mutex_);
    steps_.push_back(step);
  }
  std::vector<StepReport> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(steps_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<StepReport> steps_;
};

struct Round {
  double first_token_s = 0;
  double tokens_per_s = 0;  // prompt and streams together, until the first token
  std::vector<double> gaps_before;
  std::vector<double> gaps_during;
  // The steps that computed the prompt.
  StepWork work;
  double step_seconds = 0;
  int64_t step_count = 0;
};

class MixedLoad {
 public:
  MixedLoad(std::unique_ptr<TransformerRunner> runner, const BenchOptions& options,
            const ModelCost& cost)
      : options_(options),
        cost_(cost),
        vocab_size_(runner->vocab_size()),
        engine_(EngineOptionsFor(), std::move(runner)) {}

  Result<Round> RunRound();

 private:
  EngineOptions EngineOptionsFor();
  Result<RequestId> Submit(int32_t prompt_tokens, int32_t max_tokens,
                           std::shared_ptr<ArrivalSink> sink);
  // Adds up the steps that the log holds, up to the prompt's last.
  void CountSteps(Round& round);

  const BenchOptions& options_;
  const ModelCost& cost_;
  const int64_t vocab_size_;
  std::mt19937_64 random_{2};  // NOLINT(cert-msc51-cpp): every run measures the same
  StepLog log_;                // outlives the engine
  Engine engine_;
};

EngineOptions MixedLoad::EngineOptionsFor() {
  EngineOptions engine;
  engine.max_context = std::max(kStreamPromptTokens + StreamTokens(options_),
                                options_.mixed_prompt_tokens + kTokensAfter);
  engine.max_batch_tokens = options_.max_batch_tokens;
  engine.max_sequences = options_.mixed_streams + 1;
  engine.max_stall = options_.max_stall;
  engine.on_step = [this](const StepReport& step) { log_.Add(step); };
  return engine;
}

Result<RequestId> MixedLoad::Submit(int32_t prompt_tokens, int32_t max_tokens,
                                    std::shared_ptr<ArrivalSink> sink) {
  Request request;
  request.id = engine_.NextId();
  for (int32_t i = 0; i < prompt_tokens; ++i) {
    request.prompt.push_back(static_cast<TokenId>(random_() % static_cast<uint64_t>(vocab_size_)));
  }
  request.sampling.max_tokens = max_tokens;
  request.sampling.seed = random_();
  request.sink = std::move(sink);
  const RequestId id = request.id;
  WEFT_RETURN_IF_ERROR(engine_.Submit(std::move(request)));
  return id;
}

Result<Round> MixedLoad::RunRound() {
  std::vector<std::shared_ptr<ArrivalSink>> streams;
  std::vector<RequestId> ids;
  for (int32_t i = 0; i < options_.mixed_streams; ++i) {
    streams.push_back(std::make_shared<ArrivalSink>());
    WEFT_ASSIGN_OR_RETURN(const RequestId id,
                          Submit(kStreamPromptTokens, StreamTokens(options_), streams.back()));
    ids.push_back(id);
  }
  for (const auto& stream : streams) WEFT_RETURN_IF_ERROR(stream->WaitForTokens(kTokensBefore));

  const auto prompt = std::make_shared<ArrivalSink>();
  log_.Take();
  const Clock::time_point submitted = Clock::now();
  WEFT_RETURN_IF_ERROR(Submit(options_.mixed_prompt_tokens, kTokensAfter, prompt));
  WEFT_RETURN_IF_ERROR(prompt->WaitForTokens(1));
  const Clock::time_point first_token = prompt->WaitForEnd().front();
  for (const RequestId id : ids) engine_.Abort(id);

  Round round;
  round.first_token_s = SecondsOf(first_token - submitted);
  int64_t stream_tokens = 0;
  for (const auto& stream : streams) {
    const std::vector<Clock::time_point> arrivals = stream->WaitForEnd();
    for (size_t i = 1; i < arrivals.size(); ++i) {
      const double gap = SecondsOf(arrivals[i] - arrivals[i - 1]);
      if (arrivals[i] <= submitted) {
        round.gaps_before.push_back(gap);
      } else if (arrivals[i - 1] < first_token) {
        round.gaps_during.push_back(gap);
        ++stream_tokens;
      }
    }
  }
  round.tokens_per_s =
      static_cast<double>(options_.mixed_prompt_tokens + stream_tokens) / round.first_token_s;
  CountSteps(round);
  return round;
}

void MixedLoad::CountSteps(Round& round) {
  int64_t prompt_position = 0;
  for (const StepReport& step : log_.Take()) {
    if (prompt_position == options_.mixed_prompt_tokens) break;
    const int64_t stream_position = kStreamPromptTokens + kTokensBefore + round.step_count;
    std::vector<SequenceShape> shapes(static_cast<size_t>(step.generated_tokens),
                                      {stream_position, 1});
    shapes.push_back({prompt_position, step.prompt_tokens});
    prompt_position += step.prompt_tokens;
    const bool prompt_ends = prompt_position == options_.mixed_prompt_tokens;
    round.work.Add(CountWork(cost_, shapes, step.generated_tokens + (prompt_ends ? 1 : 0)));
    round.step_seconds += SecondsOf(step.duration);
    ++round.step_count;
  }
}

void Append(const std::vector<double>& from, std::vector<double>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

BenchRow RowOf(const std::vector<Round>& rounds, const BenchOptions& options,
               const MachineLimits* limits) {
  std::vector<double> before;
  std::vector<double> during;
  std::vector<double> first_token;
  std::vector<double> tokens_per_s;
  StepWork work;
  double seconds = 0;
  int64_t step_count = 0;
  for (const Round& round : rounds) {
    Append(round.gaps_before, before);
    Append(round.gaps_during, during);
    first_token.push_back(round.first_token_s);
    tokens_per_s.push_back(round.tokens_per_s);
    work.Add(round.work);
    seconds += round.step_seconds;
    step_count += round.step_count;
  }
  BenchRow row;
  row.test = "mixed";
  row.size = options.mixed_streams;
  row.tokens_per_s = Median(tokens_per_s);
  row.step_seconds = seconds / static_cast<double>(step_count);
  row.spread = SpreadOf(first_token);
  row.repetitions = static_cast<int>(rounds.size());
  if (limits != nullptr) {
    row.floor = FloorOf(work, *limits);
    row.floor->seconds /= static_cast<double>(step_count);
  }
  const double first_token_s = Median(first_token);
  row.mixed = MixedFigures{.prompt_tokens = options.mixed_prompt_tokens,
                           .max_stall_ms = options.max_stall.count(),
                           .worst_gap_s = *std::max_element(during.begin(), during.end()),
                           .median_gap_s = Median(during),
                           .undisturbed_gap_s = Median(before),
                           .first_token_s = first_token_s,
                           .prompt_tokens_per_s = options.mixed_prompt_tokens / first_token_s};
  return row;
}

}  // namespace

int64_t MixedLoadBlocks(const BenchOptions& options) {
  if (options.mixed_streams == 0) return 0;
  const int64_t of_stream =
      CeilDivide(kStreamPromptTokens + StreamTokens(options), kBenchBlockSize) + 1;
  const int64_t of_prompt =
      CeilDivide(options.mixed_prompt_tokens + kTokensAfter, kBenchBlockSize) + 1;
  return options.mixed_streams * of_stream + of_prompt;
}

Result<BenchRow> MeasureMixedLoad(std::unique_ptr<TransformerRunner> runner,
                                  const BenchOptions& options, const ModelCost& cost,
                                  const MachineLimits* limits) {
  MixedLoad load(std::move(runner), options, cost);
  WEFT_RETURN_IF_ERROR(load.RunRound());
  std::vector<Round> rounds;
  const Clock::time_point start = Clock::now();
  do {
    WEFT_ASSIGN_OR_RETURN(Round round, load.RunRound());
    rounds.push_back(std::move(round));
  } while (std::ssize(rounds) < options.repetitions &&
           SecondsOf(Clock::now() - start) < options.time_limit_s);
  return RowOf(rounds, options, limits);
}

}  // namespace weft
