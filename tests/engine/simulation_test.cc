// Thousands of seeded random schedules against the fake model, one step at a time: what holds after
// every step, and that company never changes what a request gets. Some seeds are the same in every
// run, others in none. A failure prints its seed; WEFT_SIMULATION_SEED=seed
// replays that one alone.
#include <algorithm>
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
#include "tests/engine/recording_sink.h"
#include "tests/engine/requests.h"
#include "tests/engine/simulation_seeds.h"

namespace weft {
namespace {

using Random = std::mt19937_64;

int32_t Between(Random& random, int32_t low, int32_t high) {  // both included
  return low + static_cast<int32_t>(random() % static_cast<uint64_t>(high - low + 1));
}

bool OneIn(Random& random, int32_t n) { return Between(random, 1, n) == 1; }

// Token t is the letters "a".."z" and a few longer pieces, so that stop strings cross tokens.
std::string_view BytesOf(TokenId token) {
  static const std::vector<std::string> bytes = [] {
    std::vector<std::string> all;
    for (int i = 0; i < 29; ++i)
      all.push_back(i < 20
                        ? std::string(1, static_cast<char>('a' + i % 5))
                        : std::string(static_cast<size_t>(i - 19), static_cast<char>('a' + i % 3)));
    return all;
  }();
  return bytes[static_cast<size_t>(token)];
}

struct Arrival {
  Request request;
  int32_t step = 0;
  int32_t abort_step = std::numeric_limits<int32_t>::max();
  std::shared_ptr<RecordingSink> sink;
};

struct Schedule {
  FakeModelRunner::Options model;
  EngineOptions engine;
  std::vector<Arrival> arrivals;
  int32_t row_cost_us = 0;            // a step takes so long a row, and as long again as 5 rows
  int32_t failing_step_interval = 0;  // one step in so many fails, at random; 0: none
};

// What looks back on a sequence's tokens, and mirostat's own state.
void AddHistory(Random& random, SamplingParams& params) {
  if (OneIn(random, 3)) params.repetition_penalty = Between(random, 5, 20) / 10.0;
  if (OneIn(random, 3)) params.frequency_penalty = Between(random, -20, 20) / 10.0;
  if (OneIn(random, 3)) params.presence_penalty = Between(random, -20, 20) / 10.0;
  if (OneIn(random, 3)) params.repeat_last_n = Between(random, 0, 12);
  if (OneIn(random, 3)) params.dry.multiplier = Between(random, 1, 20) / 10.0;
  if (OneIn(random, 3)) params.dry.sequence_breakers = {"ab", "c"};
  if (OneIn(random, 4)) params.mirostat = 2;
  if (OneIn(random, 4)) params.mirostat_tau = Between(random, 0, 50) / 10.0;
  if (OneIn(random, 4)) params.xtc_probability = 0.5;
  if (OneIn(random, 4)) params.dynatemp_range = 0.5;
  if (OneIn(random, 4)) params.bad_words = {{1, 2}, {5}, {0, 0, 3}};
  if (OneIn(random, 4)) params.logit_bias = {{4, 2.5F}, {17, -100}};
  if (OneIn(random, 9)) params.allowed_token_ids = {0, 3, 4, 8, 17, 20};
  if (OneIn(random, 3)) std::shuffle(params.samplers.begin(), params.samplers.end(), random);
}

SamplingParams RandomSampling(Random& random, int32_t max_tokens) {
  SamplingParams params;
  params.max_tokens = max_tokens;
  params.min_tokens = OneIn(random, 4) ? Between(random, 0, max_tokens) : 0;
  params.temperature = OneIn(random, 3) ? 0 : Between(random, 1, 30) / 10.0;
  if (OneIn(random, 3)) params.top_k = Between(random, 1, 29);
  if (OneIn(random, 3)) params.top_p = Between(random, 0, 10) / 10.0;
  if (OneIn(random, 3)) params.min_p = Between(random, 0, 10) / 10.0;
  params.seed = random();
  params.ignore_eos = OneIn(random, 2);
  if (OneIn(random, 3)) params.stop = {"abc", "aa", "dea"};
  if (OneIn(random, 4)) params.stop_token_ids = {Between(random, 0, 28)};
  params.include_stop = OneIn(random, 3);
  params.logprobs = OneIn(random, 3) ? Between(random, 0, 5) : -1;
  params.prompt_logprobs = OneIn(random, 4);
  if (OneIn(random, 2)) AddHistory(random, params);
  return params;
}

// Turns a request into a beam search, if the engine can hold so many beams.
void SearchBeams(Random& random, const Schedule& schedule, Request& request) {
  const auto total = static_cast<int64_t>(request.prompt.size()) + request.sampling.max_tokens;
  int64_t most =
      std::min(int64_t{schedule.engine.max_sequences}, int64_t{schedule.engine.max_batch_tokens});
  for (const StateGroup& group : schedule.model.groups) {
    if (group.is_source) continue;
    most =
        std::min(most, group.block_count / group.MostBlocks(total, schedule.engine.max_batch_tokens,
                                                            schedule.model.block_size));
  }
  if (most < request.choice_count || request.sampling.max_tokens == 0) return;
  SamplingParams& params = request.sampling;
  params.beam_width = Between(random, request.choice_count, static_cast<int32_t>(most));
  params.length_penalty = Between(random, -5, 20) / 10.0;
  params.early_stopping = OneIn(random, 3);
  params.logprobs = -1;
  params.stop.clear();
}

// Turns a request into one for an embedding, or for logits.
void Pool(Random& random, Request& request) {
  PoolingParams& pooling = request.pooling.emplace();
  pooling.pooling = OneIn(random, 2) ? Pooling::kMean : Pooling::kLast;
  if (OneIn(random, 2)) {
    pooling.output = PooledOutput::kTokenLogits;
    for (int32_t i = Between(random, 1, 4); i > 0; --i) {
      pooling.tokens.push_back(Between(random, 0, 28));
    }
  }
  request.choice_count = 1;
  request.sampling = {};
  request.sampling.max_tokens = 0;
}

// Of new tokens, or as an earlier request's begins.
void AddPrompt(Random& random, const Schedule& schedule, int32_t token_count, Request& request) {
  if (!schedule.arrivals.empty() && OneIn(random, 2)) {
    const auto other =
        static_cast<size_t>(Between(random, 0, static_cast<int32_t>(schedule.arrivals.size()) - 1));
    const std::vector<TokenId>& shared = schedule.arrivals[other].request.prompt;
    const int32_t most = std::min(token_count, static_cast<int32_t>(shared.size()));
    const int32_t count = OneIn(random, 2) ? most : Between(random, 1, most);
    request.prompt.assign(shared.begin(), shared.begin() + count);
  }
  while (std::ssize(request.prompt) < token_count) request.prompt.push_back(Between(random, 0, 28));
  if (OneIn(random, 8)) request.cache_salt.fill(static_cast<uint8_t>(Between(random, 0, 1)));
  request.reads_prefix_cache = !OneIn(random, 12);
  if (OneIn(random, 3)) request.shared_count = Between(random, 0, token_count + 3);
}

// One group that keeps all, as most models have; that one and others that forget; those alone; and
// states beside them or alone.
void AddGroups(Random& random, Schedule& schedule) {
  const int32_t kind = Between(random, 0, 6);
  std::vector<StateGroup>& groups = schedule.model.groups;
  const int32_t block_size = static_cast<int32_t>(schedule.model.block_size);
  if (kind <= 3) {
    const int32_t block_count = Between(random, 2, OneIn(random, 3) ? 80 : 16);
    groups.push_back({.block_count = block_count});
    schedule.engine.max_context =
        std::max(std::min(block_size * block_count, schedule.engine.max_context), 2);
  }
  const int32_t forgetting_count = kind <= 1 || kind == 6 ? 0 : kind == 2 || kind == 4 ? 1 : 2;
  for (int32_t i = 0; i < forgetting_count; ++i) {
    StateGroup group;
    const int32_t length = Between(random, 1, OneIn(random, 3) ? 30 : 8);
    (OneIn(random, 3) ? group.chunk : group.window) = length;
    const int64_t least =
        group.MostBlocks(schedule.engine.max_context, schedule.engine.max_batch_tokens, block_size);
    group.block_count = least + (OneIn(random, 3) ? 0 : Between(random, 0, 20));
    groups.push_back(group);
  }
  if (kind == 6 || OneIn(random, 3)) {
    groups.push_back({.is_recurrent = true,
                      .window = 2,
                      .block_count = Between(random, 2, OneIn(random, 3) ? 30 : 6),
                      .state_interval = OneIn(random, 2) ? 0 : Between(random, 1, 20)});
  }
  schedule.engine.reads_sources = OneIn(random, 4);
  if (!schedule.engine.reads_sources) return;
  const int32_t least = (schedule.engine.max_context + block_size - 1) / block_size;
  groups.push_back(
      {.is_source = true, .block_count = Between(random, 1, OneIn(random, 2) ? least : 3 * least)});
}

// Of new tokens, or an earlier request's; as long as the cache allows.
void AddSource(Random& random, const Schedule& schedule, Request& request) {
  if (!schedule.engine.reads_sources) return;
  if (!schedule.arrivals.empty() && OneIn(random, 2)) {
    request.source = schedule.arrivals.back().request.source;
    return;
  }
  const auto room =
      static_cast<int32_t>(schedule.model.groups.back().block_count * schedule.model.block_size);
  const int32_t count = Between(random, 1, std::min(room, schedule.engine.max_context));
  for (int32_t i = 0; i < count; ++i) request.source.push_back(Between(random, 0, 28));
}

Schedule RandomSchedule(Random& random) {
  Schedule schedule;
  schedule.model.block_size = Between(random, 1, 6);
  schedule.engine.max_context = Between(random, 4, 60);
  schedule.engine.max_batch_tokens = Between(random, 1, OneIn(random, 2) ? 6 : 40);
  AddGroups(random, schedule);
  schedule.engine.max_sequences = Between(random, 1, 8);
  schedule.engine.end_tokens = {3, 17};
  schedule.engine.token_bytes = BytesOf;
  schedule.row_cost_us = Between(random, 0, 2) * Between(random, 1, 10'000);
  schedule.engine.max_stall = std::chrono::milliseconds(Between(random, 1, 100));
  schedule.engine.prefix_cache = !OneIn(random, 10);
  if (OneIn(random, 5)) schedule.failing_step_interval = Between(random, 5, 40);
  const int32_t request_count = Between(random, 1, 10);
  for (int32_t i = 0; i < request_count; ++i) {
    Arrival arrival;
    arrival.step = Between(random, 0, 25);
    if (OneIn(random, 5)) arrival.abort_step = arrival.step + Between(random, 0, 20);
    Request& request = arrival.request;
    request.id = static_cast<RequestId>(i) + 1;
    const int32_t prompt_count = Between(random, 1, schedule.engine.max_context - 1);
    AddPrompt(random, schedule, prompt_count, request);
    AddSource(random, schedule, request);
    const bool echo = request.source.empty() && OneIn(random, 12);
    request.sampling = RandomSampling(
        random, echo ? 0 : Between(random, 1, schedule.engine.max_context - prompt_count));
    request.sampling.prompt_logprobs = request.sampling.prompt_logprobs || echo;
    if (!request.source.empty()) request.sampling.prompt_logprobs = false;
    request.choice_count = OneIn(random, 3) ? Between(random, 1, schedule.engine.max_sequences) : 1;
    if (i > 0 && OneIn(random, 3)) {
      const Request& other =
          schedule.arrivals[static_cast<size_t>(Between(random, 0, i - 1))].request;
      request.job_id = other.job_id != 0 ? other.job_id : other.id;
    }
    request.priority = OneIn(random, 6) ? Between(random, -1, 1) : 0;
    if (OneIn(random, 4)) SearchBeams(random, schedule, request);
    if (request.source.empty() && OneIn(random, 6)) Pool(random, request);
    if (request.sampling.beam_width == 0 && i % 3 == 0)
      request.constraint = std::make_shared<const LetterConstraint>(BytesOf, 29);
    schedule.arrivals.push_back(std::move(arrival));
  }
  std::stable_sort(schedule.arrivals.begin(), schedule.arrivals.end(),
                   [](const Arrival& a, const Arrival& b) { return a.step < b.step; });
  return schedule;
}

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
  int32_t longest_wait = 0;
};

void RunSchedule(uint64_t seed, Totals& totals) {
  SCOPED_TRACE("WEFT_SIMULATION_SEED=" + std::to_string(seed));
  Random random(seed);
  Schedule schedule = RandomSchedule(random);
  FakeModelRunner runner(schedule.model);
  runner.cost = [&](const ForwardBatch& batch) {
    const int64_t source_rows = batch.sources == nullptr ? 0 : batch.sources->row_count();
    return std::chrono::microseconds(schedule.row_cost_us * (batch.row_count() + source_rows + 5));
  };
  EngineCore core(schedule.engine, runner, [&] { return runner.now(); });
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
    const ShareCheck shares(core);
    core.Step();
    ++totals.steps;
    totals.shared_slots += shares.Run(schedule.engine.max_sequences);
    ASSERT_NO_FATAL_FAILURE(CheckSlots(core, schedule.engine.max_sequences));
    ASSERT_EQ(runner.complaint(), "");
    ASSERT_NO_FATAL_FAILURE(CheckBlocks(core, schedule.engine.max_batch_tokens));
    totals.kept_blocks += contents.Run();
    ASSERT_FALSE(testing::Test::HasFailure());
    ASSERT_NO_FATAL_FAILURE(watch.Observe(core));
  }
  ASSERT_EQ(core.pools().used_count(), 0);
  totals.longest_wait = std::max(totals.longest_wait, watch.longest());
  totals.preemptions += core.TakeReport().preemptions;
  for (const Arrival& arrival : schedule.arrivals) {
    ASSERT_NO_FATAL_FAILURE(CompareWithAlone(arrival, schedule));
    const FinishReason reason = arrival.sink->choice().finishes[0].reason;
    totals.sources += arrival.request.source.empty() ? 0 : 1;
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
