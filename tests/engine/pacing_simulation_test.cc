// Streams keep their pace while prompts arrive, and prompts get on: seeded schedules against the
// fake model, whose clock follows a cost function that the scheduler does not know.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine_core.h"
#include "tests/engine/fake_model_runner.h"
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

std::chrono::nanoseconds Nanoseconds(double seconds) {
  return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
}

// What a step truly costs.
struct Machine {
  double weights_s = 0;  // reading them
  double row_s = 0;
  double read_s = 0;         // a position that a row reads
  bool overlaps = false;     // arithmetic hides behind the reading of weights, and vice versa
  int32_t rows_at_once = 1;  // rows are computed in tiles
  double slowness = 1;       // now

  double Seconds(const ForwardBatch& batch) const {
    int64_t reads = 0;
    for (const int32_t position : batch.positions) reads += position + 1;
    return Seconds(static_cast<int32_t>(batch.row_count()), reads);
  }
  double Seconds(int32_t rows, int64_t reads) const {
    const int32_t whole_rows = (rows + rows_at_once - 1) / rows_at_once * rows_at_once;
    const double compute_s = row_s * whole_rows;
    return slowness * ((overlaps ? std::max(weights_s, compute_s) : weights_s + compute_s) +
                       read_s * static_cast<double>(reads));
  }
};

Machine RandomMachine(Random& random) {
  Machine machine;
  machine.weights_s = Between(random, 1, 60) / 1000.0;
  machine.row_s = std::pow(10.0, Between(random, -400, -270) / 100.0);  // 0.1 to 2 ms
  machine.read_s = OneIn(random, 2) ? machine.row_s / Between(random, 1000, 10'000) : 0;
  machine.overlaps = OneIn(random, 2);
  machine.rows_at_once = OneIn(random, 2) ? 16 : 1;
  return machine;
}

// Streams that run all the time, and prompts that arrive in between.
class PacingRun {
 public:
  explicit PacingRun(uint64_t seed)
      : random_(seed),
        machine_(RandomMachine(random_)),
        runner_({.vocab_size = 29, .block_size = 16, .block_count = 4000, .reads_back = false}) {
    options_.max_context = 3000;
    options_.max_batch_tokens = OneIn(random_, 3) ? 64 : 512;
    options_.max_sequences = 32;
    options_.max_stall = std::chrono::milliseconds(OneIn(random_, 2) ? 100 : 50);
    runner_.cost = [this](const ForwardBatch& batch) {
      true_s_ = machine_.Seconds(batch);
      rows_ = static_cast<int32_t>(batch.row_count());
      const double noise = 1 + Between(random_, -5, 5) / 100.0;
      return Nanoseconds(true_s_ * noise * (OneIn(random_, 40) ? Between(random_, 2, 6) : 1));
    };
    core_.emplace(options_, runner_, [this] { return runner_.now(); });
  }

  void Run() {
    const int32_t stream_count = Between(random_, 1, 12);
    for (int32_t i = 0; i < stream_count; ++i) Add(Between(random_, 1, 300), 600);
    const int32_t slow_step = Between(random_, 100, 300);
    for (int32_t step = 0; step < 400; ++step) {
      if (step == slow_step) {
        machine_.slowness = Between(random_, 5, 25) / 10.0;
        settled_steps_ = 0;
      }
      if (step > 20 && OneIn(random_, 25)) Add(Between(random_, 1, 2000), 3);
      ASSERT_NO_FATAL_FAILURE(Step());
    }
    EXPECT_EQ(runner_.complaint(), "");
  }

  int32_t judged_count() const { return judged_count_; }
  int32_t late_count() const { return late_count_; }
  int32_t timid_count() const { return timid_count_; }

 private:
  void Add(int32_t prompt_count, int32_t max_tokens) {
    std::vector<TokenId> prompt;
    for (int32_t i = 0; i < prompt_count; ++i) prompt.push_back(Between(random_, 0, 28));
    AddRecorded(*core_, GreedyRequest(next_id_++, std::move(prompt), max_tokens));
  }

  const Sequence* OldestPrompt() const {
    for (const Sequence* sequence : core_->scheduler().running()) {
      if (sequence->pending_count() > 1) return sequence;
    }
    const auto& jobs = core_->scheduler().line().jobs();
    return jobs.empty() ? nullptr : *jobs.begin()->second->waiting.begin();
  }

  size_t JobsWithPrompts() const {
    std::set<RequestId> jobs;
    for (const Sequence* sequence : core_->scheduler().running()) {
      if (sequence->pending_count() > 1) jobs.insert(sequence->job_id);
    }
    return jobs.size() + core_->scheduler().line().jobs().size();
  }

  void Step() {
    int32_t decode_rows = 0;
    int64_t decode_reads = 0;
    for (const Sequence* sequence : core_->scheduler().running()) {
      if (sequence->pending_count() > 1) continue;
      ++decode_rows;
      decode_reads += sequence->token_count();
    }
    const bool jobs_share_steps = JobsWithPrompts() > 1;
    const Sequence* prompt = OldestPrompt();
    const int32_t pending_count = prompt == nullptr ? 0 : prompt->pending_count();
    const int32_t computed_count = prompt == nullptr ? 0 : prompt->computed_count;
    core_->Step();
    if (prompt == nullptr) return;
    // Nothing is finished by the step that computes the last of a prompt: `prompt` is still there.
    const int32_t progress = prompt->computed_count - computed_count;
    ASSERT_GE(progress, std::min(8, pending_count)) << "the oldest prompt starves";
    const bool prompts_left = OldestPrompt() != nullptr;
    if (decode_rows == 0 && !jobs_share_steps) {
      ASSERT_TRUE(!prompts_left || rows_ == options_.max_batch_tokens) << "an idle machine";
      return;
    }
    constexpr int32_t kLearningSteps = 8;
    if (++settled_steps_ <= kLearningSteps) return;
    const double decode_s = machine_.Seconds(decode_rows, decode_reads);
    Judge(decode_rows > 0 ? 2 * decode_s : 8 * decode_s, decode_rows, prompts_left);
  }

  void Judge(double least_s, int32_t decode_rows, bool prompts_left) {
    const double target_s = std::chrono::duration<double>(options_.max_stall).count();
    const bool least = rows_ - decode_rows < 24;
    constexpr int32_t kTileRows = 16;  // which prompts are planned in
    const double tile_s = machine_.slowness * machine_.row_s * kTileRows;
    ++judged_count_;
    if (true_s_ > 1.2 * std::max(target_s, least_s) && !least) ++late_count_;
    if (prompts_left && rows_ < options_.max_batch_tokens && true_s_ < 0.6 * target_s &&
        true_s_ + tile_s < target_s) {
      ++timid_count_;
    }
  }

  Random random_;
  Machine machine_;
  FakeModelRunner runner_;
  EngineOptions options_;
  std::optional<EngineCore> core_;
  RequestId next_id_ = 1;
  // The last step: what it truly cost, without noise, and its rows.
  double true_s_ = 0;
  int32_t rows_ = 0;
  int32_t settled_steps_ = 0;  // with prompts and streams, since the machine changed
  int32_t judged_count_ = 0;
  int32_t late_count_ = 0;
  int32_t timid_count_ = 0;
};

// Steps, summed over runs.
struct Judgement {
  int32_t judged = 0;
  int32_t late = 0;
  int32_t timid = 0;
};

Judgement RunAll(const std::vector<uint64_t>& seeds) {
  Judgement sum;
  for (const uint64_t seed : seeds) {
    if (testing::Test::HasFatalFailure()) break;
    SCOPED_TRACE("seed " + std::to_string(seed));
    PacingRun run(seed);
    run.Run();
    sum.judged += run.judged_count();
    sum.late += run.late_count();
    sum.timid += run.timid_count();
  }
  return sum;
}

TEST(PacingSimulation, StreamsKeepTheirPaceAndPromptsUseTheRest) {
  const Judgement steps = RunAll(FixedSeeds(400));
  if (AskedSeed()) return;
  EXPECT_GT(steps.judged, 5000);
  // What is late was planned just after the machine became slower, or a crowd of streams ended.
  EXPECT_LT(steps.late, steps.judged / 100);
  EXPECT_LT(steps.timid, steps.judged / 300);
}

// Shares of few schedules scatter; what is asserted of every single step does not.
TEST(PacingSimulation, NoScheduleIsAnException) { RunAll(FreshSeeds(50)); }

}  // namespace
}  // namespace weft
