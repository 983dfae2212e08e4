// Thousands of seeded random schedules against the fake model, one step at a time: what holds after
// every step, and that company never changes what a request gets. Some seeds are the same in every
// run, others in none. A failure prints its seed; WEFT_SIMULATION_SEED=seed
// replays that one alone.
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine_core.h"
#include "tests/engine/engine_invariants.h"
#include "tests/engine/fake_model_runner.h"
#include "tests/engine/letter_constraint.h"
#include "tests/engine/random_schedule.h"
#include "tests/engine/recording_sink.h"
#include "tests/engine/requests.h"
#include "tests/engine/simulation_seeds.h"

namespace weft {
namespace {

// What one request gets when nobody else is there and nothing is short.
std::shared_ptr<RecordingSink> RunAlone(Request request, const Schedule& schedule) {
  const EngineOptions& like = schedule.engine;
  std::vector<StateGroup> groups = schedule.model.groups;
  for (StateGroup& group : groups) group.block_count = 64;
  FakeModelRunner runner({.vocab_size = 29, .block_size = 16, .groups = groups});
  EngineOptions options = like;
  options.max_batch_tokens = 512;
  options.max_sequences = 16;
  options.prefix_cache = false;
  options.run_beside = {};
  EngineCore core(options, runner);
  auto sink = AddRecorded(core, std::move(request));
  while (core.has_work()) core.Step();
  EXPECT_EQ(runner.complaint(), "");
  EXPECT_EQ(sink->complaint(), "");
  return sink;
}

bool SameLogprob(const TokenLogprob& a, const TokenLogprob& b) {
  return a.token == b.token && a.logprob == b.logprob && a.top == b.top;
}

bool StartsWith(const std::vector<TokenLogprob>& whole, const std::vector<TokenLogprob>& part) {
  return part.size() <= whole.size() &&
         std::equal(part.begin(), part.end(), whole.begin(), SameLogprob);
}

bool IsKeptBy(const RecordedChoice& choice) {
  std::string text;
  for (const TokenId token : choice.tokens) text += BytesOf(token);
  const bool ends_early = choice.finishes[0].stop_token && text.ends_with('a');
  return LetterConstraint::IsKept(text) && !ends_early;
}

void CompareWithAlone(const Arrival& arrival, const Schedule& schedule) {
  const bool steps_fail = schedule.failing_step_interval > 0;
  const auto alone = RunAlone(arrival.request, schedule);
  const RecordingSink& sink = *arrival.sink;
  ASSERT_EQ(sink.complaint(), "");
  ASSERT_TRUE(sink.finished());
  ASSERT_TRUE(StartsWith(alone->prompt_logprobs(), sink.prompt_logprobs()));
  for (size_t i = 0; i < sink.choice_count(); ++i) {
    const RecordedChoice& got = sink.choice(i);
    const RecordedChoice& want = alone->choice(i);
    ASSERT_EQ(got.finishes.size(), 1U);
    ASSERT_TRUE(StartsWith(want.logprobs, got.logprobs));
    const FinishReason reason = got.finishes[0].reason;
    ASSERT_TRUE(!arrival.request.constraint || IsKeptBy(got));
    const bool finishes =
        arrival.request.finish_by_length && arrival.request.sampling.max_tokens > 0;
    ASSERT_TRUE(!finishes || reason != FinishReason::kLength);
    if (reason == FinishReason::kAborted || (reason == FinishReason::kFailed && steps_fail)) {
      const bool was_aborted = arrival.abort_step != std::numeric_limits<int32_t>::max();
      ASSERT_TRUE(reason == FinishReason::kFailed || was_aborted);
      ASSERT_LE(got.tokens.size(), want.tokens.size());
      ASSERT_TRUE(std::equal(got.tokens.begin(), got.tokens.end(), want.tokens.begin()));
      continue;
    }
    ASSERT_EQ(sink.prompt_logprobs().size(), alone->prompt_logprobs().size());
    ASSERT_EQ(sink.pooled(), alone->pooled());
    ASSERT_EQ(sink.pooled().has_value(), arrival.request.pooling.has_value());
    ASSERT_EQ(got.tokens, want.tokens);
    ASSERT_EQ(got.text, want.text);
    ASSERT_EQ(got.logprobs.size(), want.logprobs.size());
    ASSERT_EQ(got.finishes[0].reason, want.finishes[0].reason);
    ASSERT_EQ(got.finishes[0].stop_string, want.finishes[0].stop_string);
    ASSERT_EQ(got.finishes[0].stop_token, want.finishes[0].stop_token);
    ASSERT_EQ(got.finishes[0].completion_tokens, want.finishes[0].completion_tokens);
  }
}

struct Totals {
  int64_t preemptions = 0;
  int64_t steps = 0;
  int64_t aborted = 0;
  int64_t failed = 0;
  int64_t embeddings = 0;
  int64_t sources = 0;
  int64_t cached_tokens = 0;
  int64_t kept_blocks = 0;   // summed over steps
  int64_t restored = 0;      // positions of prompts, of models with states
  int64_t shared_slots = 0;  // likewise: a job held half of the slots, and another had none
  int64_t masks = 0;
  int64_t parked = 0;    // sequences, whose masks were late
  int64_t finished = 0;  // texts that had to be
  int64_t stalls = 0;    // of engines, until one of them was there
  int32_t longest_wait = 0;
};

// Masks that are made when the test says so.
class SlowMasks {
 public:
  void Add(std::function<void()> task) { tasks_.push_back(std::move(task)); }
  // One in so many, in any order.
  void Run(Random& random, int32_t interval) {
    std::shuffle(tasks_.begin(), tasks_.end(), random);
    std::vector<std::function<void()>> later;
    for (std::function<void()>& task : tasks_) {
      if (OneIn(random, interval)) {
        task();
      } else {
        later.push_back(std::move(task));
      }
    }
    tasks_ = std::move(later);
  }
  // Until the engine has something to do, which it has to be told.
  void RunUntilAwake(Random& random, const EngineCore& core) {
    ASSERT_EQ(wake_count, 0);
    while (core.is_stalled()) {
      ASSERT_FALSE(tasks_.empty());
      std::shuffle(tasks_.begin(), tasks_.end(), random);
      const std::function<void()> task = std::move(tasks_.back());
      tasks_.pop_back();
      task();
    }
    ASSERT_GT(wake_count, 0);
  }

  int32_t wake_count = 0;

 private:
  std::vector<std::function<void()>> tasks_;
};

void RunSchedule(uint64_t seed, Totals& totals) {
  SCOPED_TRACE("WEFT_SIMULATION_SEED=" + std::to_string(seed));
  Random random(seed);
  Schedule schedule = RandomSchedule(random);
  SlowMasks masks;
  if (schedule.mask_interval > 0)
    schedule.engine.run_beside = [&](std::function<void()> task) { masks.Add(std::move(task)); };
  FakeModelRunner runner(schedule.model);
  runner.cost = [&](const ForwardBatch& batch) {
    const int64_t source_rows = batch.sources == nullptr ? 0 : batch.sources->row_count();
    return std::chrono::microseconds(schedule.row_cost_us * (batch.row_count() + source_rows + 5));
  };
  EngineCore core(
      schedule.engine, runner, [&] { return runner.now(); }, [&] { ++masks.wake_count; });
  runner.is_read_only = [&](size_t group, int32_t block) {
    const BlockPool& pool = core.pools()[group];
    return pool.reference_count(block) > 1 || pool.content(block) != nullptr;
  };
  runner.is_written_source = [&](int32_t block) {
    return core.pools()[core.pools().source_group()].content(block) != nullptr;
  };
  runner.before_run = [&](const ForwardBatch& batch) -> Result<void> {
    EXPECT_LE(batch.row_count(), schedule.engine.max_batch_tokens);
    EXPECT_LE(std::ssize(batch.sequences), schedule.engine.max_sequences);
    CheckPhases(core, batch);
    if (schedule.mask_interval > 0) masks.Run(random, schedule.mask_interval);
    if (schedule.failing_step_interval == 0 || !OneIn(random, schedule.failing_step_interval))
      return {};
    if (OneIn(random, 2)) throw std::runtime_error("thrown");
    return Fail(ErrorCode::kInternal, "returned");
  };
  ContentCheck contents(core, runner);
  StarvationWatch watch(schedule.engine, schedule.arrivals.size());
  size_t next = 0;
  for (int32_t step = 0; next < schedule.arrivals.size() || core.has_work(); ++step) {
    for (; next < schedule.arrivals.size() && schedule.arrivals[next].step <= step; ++next) {
      Arrival& arrival = schedule.arrivals[next];
      arrival.sink = AddRecorded(core, arrival.request);
    }
    for (const Arrival& arrival : schedule.arrivals) {
      if (arrival.abort_step == step) {
        core.Abort(arrival.request.id);
        ASSERT_TRUE(!arrival.sink || arrival.sink->finished());
      }
    }
    if (!core.has_work()) continue;
    if (core.is_stalled()) {
      ++totals.stalls;
      ASSERT_NO_FATAL_FAILURE(masks.RunUntilAwake(random, core));
    }
    masks.wake_count = 0;
    const ShareCheck shares(core);
    core.Step();
    ++totals.steps;
    totals.shared_slots += shares.Run(schedule.engine.max_sequences);
    ASSERT_NO_FATAL_FAILURE(CheckSlots(core, schedule.engine.max_sequences));
    ASSERT_NO_FATAL_FAILURE(CheckParked(core));
    ASSERT_EQ(runner.complaint(), "");
    ASSERT_NO_FATAL_FAILURE(CheckBlocks(core, schedule.engine.max_batch_tokens));
    totals.kept_blocks += contents.Run();
    ASSERT_FALSE(testing::Test::HasFailure());
    ASSERT_NO_FATAL_FAILURE(watch.Observe(core));
  }
  ASSERT_EQ(core.pools().used_count(), 0);
  totals.longest_wait = std::max(totals.longest_wait, watch.longest());
  const StepReport report = core.TakeReport();
  totals.preemptions += report.preemptions;
  totals.masks += report.masks;
  totals.parked += report.parked_sequences;
  for (const Arrival& arrival : schedule.arrivals) {
    ASSERT_NO_FATAL_FAILURE(CompareWithAlone(arrival, schedule));
    const FinishReason reason = arrival.sink->choice().finishes[0].reason;
    totals.sources += arrival.request.source.empty() ? 0 : 1;
    totals.finished += arrival.request.finish_by_length && reason == FinishReason::kStop ? 1 : 0;
    totals.aborted += reason == FinishReason::kAborted ? 1 : 0;
    totals.embeddings += arrival.sink->embedding().empty() ? 0 : 1;
    const int32_t cached_tokens = arrival.sink->choice().finishes[0].cached_tokens;
    totals.cached_tokens += cached_tokens;
    if (runner.has_states()) totals.restored += cached_tokens;
    totals.failed += reason == FinishReason::kFailed ? 1 : 0;
  }
}

TEST(Simulation, RandomSchedulesKeepEveryInvariant) {
  Totals totals;
  for (const uint64_t seed : FixedSeeds(4000)) {
    if (!HasFatalFailure()) RunSchedule(seed, totals);
  }
  if (AskedSeed()) return;
  // The schedules are worth something only if they meet famine, aborts and failures.
  EXPECT_GT(totals.preemptions, 1000);
  EXPECT_GT(totals.aborted, 500);
  EXPECT_GT(totals.failed, 500);
  EXPECT_GT(totals.embeddings, 500);
  EXPECT_GT(totals.sources, 1000);
  EXPECT_GT(totals.cached_tokens, 10'000);
  EXPECT_GT(totals.kept_blocks, 100'000);
  EXPECT_GT(totals.restored, 2000);
  RecordProperty("restored", std::to_string(totals.restored));
  EXPECT_GT(totals.shared_slots, 1000);
  EXPECT_GT(totals.masks, 10'000);
  EXPECT_GT(totals.parked, 2000);
  EXPECT_GT(totals.stalls, 1000);
  EXPECT_GT(totals.finished, 1000);
  RecordProperty("longest_wait", std::to_string(totals.longest_wait));
  RecordProperty("shared_slots", std::to_string(totals.shared_slots));
  RecordProperty("steps", std::to_string(totals.steps));
  for (const uint64_t seed : FreshSeeds(2000)) {
    if (!HasFatalFailure()) RunSchedule(seed, totals);
  }
}

// Requests of every kind, and newcomers without end: somebody always waits.
class EndlessRun {
 public:
  explicit EndlessRun(uint64_t seed) : random_(seed) {
    schedule_.engine.max_context = 40;
    schedule_.engine.max_batch_tokens = Between(random_, 8, 64);
    schedule_.model = {.vocab_size = 29, .block_size = 4};
    schedule_.model.groups.push_back({.block_count = Between(random_, 10, 80)});
    if (OneIn(random_, 2)) {
      schedule_.model.groups.push_back({.window = 6, .block_count = Between(random_, 10, 40)});
    }
    if (OneIn(random_, 3)) {
      schedule_.model.groups.push_back(
          {.is_recurrent = true, .window = 2, .block_count = Between(random_, 2, 20)});
    }
    schedule_.engine.max_sequences = Between(random_, 2, 8);
    runner_.emplace(schedule_.model);
    core_.emplace(schedule_.engine, *runner_, [this] { return runner_->now(); });
  }

  // The steps until all requests that are there at the start are answered, `most` at most.
  int32_t Run(int32_t most) {
    const int32_t count = Between(random_, 1, 8);
    for (int32_t i = 0; i < count; ++i) AddPatient();
    int32_t step = 0;
    const auto finished = [](const auto& sink) { return sink->finished(); };
    for (; step < most && !std::ranges::all_of(patient_, finished); ++step) {
      while (core_->scheduler().line().jobs().size() < 3) AddNewcomer();
      core_->Step();
    }
    EXPECT_EQ(runner_->complaint(), "");
    core_->AbortAll();
    return step;
  }

 private:
  Request MakeRequest(int32_t most_tokens) {
    Request request = GreedyRequest(next_id_++, {}, Between(random_, 1, most_tokens));
    request.sampling.ignore_eos = true;
    AddPrompt(random_, schedule_, Between(random_, 1, most_tokens), request);
    return request;
  }

  void AddPatient() {
    Request request = MakeRequest(20);
    request.choice_count = Between(random_, 1, schedule_.engine.max_sequences);
    if (OneIn(random_, 2)) SearchBeams(random_, schedule_, request);
    if (OneIn(random_, 2)) request.job_id = 1;
    patient_.push_back(AddRecorded(*core_, std::move(request)));
  }

  void AddNewcomer() {
    Request request = MakeRequest(6);
    if (OneIn(random_, 4))
      request.choice_count = Between(random_, 1, schedule_.engine.max_sequences);
    if (OneIn(random_, 8)) SearchBeams(random_, schedule_, request);
    AddRecorded(*core_, std::move(request));
  }

  Random random_;
  Schedule schedule_;
  std::optional<FakeModelRunner> runner_;
  std::optional<EngineCore> core_;
  RequestId next_id_ = 1;
  std::vector<std::shared_ptr<RecordingSink>> patient_;
};

TEST(Simulation, NobodyStarvesWhereNewcomersNeverEnd) {
  constexpr int32_t kMostSteps = 3000;
  int32_t longest = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const int32_t step_count = EndlessRun(seed).Run(kMostSteps);
    ASSERT_LT(step_count, kMostSteps) << "seed " << seed;
    longest = std::max(longest, step_count);
  }
  RecordProperty("longest", std::to_string(longest));
}

}  // namespace
}  // namespace weft
