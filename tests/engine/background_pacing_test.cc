// Streams do not feel what is computed in the background: seeded schedules against the fake model,
// whose clock follows a cost function that the scheduler does not know.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "engine/engine_core.h"
#include "tests/engine/fake_model_runner.h"
#include "tests/engine/requests.h"
#include "tests/engine/simulation_seeds.h"

namespace weft {
namespace {

// Rows of a step, and the positions that they read.
struct Work {
  int64_t rows = 0;
  int64_t reads = 0;

  void Add(int64_t position) {
    ++rows;
    reads += position + 1;
  }
};

struct Counts {
  int64_t steps = 0;       // with rows in the foreground, once costs are known
  int64_t long_steps = 0;  // of them, longer than without the background by more than 5%
  int64_t shared_steps = 0;
  int64_t idle_rows = 0;           // in the background, in steps of its own
  int64_t rows_beside = 0;         // in the background, in the others
  std::vector<double> gaps;        // what steps with rows in the foreground took
  std::vector<double> gaps_alone;  // and would have taken without the background
};

// A value that one in a hundred exceeds.
double Worst(std::vector<double> values) {
  const auto worst = values.begin() + std::ssize(values) * 99 / 100;
  std::ranges::nth_element(values, worst);
  return *worst;
}

class BackgroundRun {
 public:
  explicit BackgroundRun(uint64_t seed)
      : random_(seed),
        runner_({.vocab_size = 29, .block_size = 16, .block_count = 4000, .reads_back = false}) {
    weights_s_ = Between(1, 60) / 1000.0;
    row_s_ = std::pow(10.0, Between(-450, -300) / 100.0);  // 0.03 to 1 ms
    read_s_ = Between(0, 1) * row_s_ / Between(1000, 10'000);
    options_.max_context = 4000;
    options_.max_batch_tokens = 256;
    options_.max_sequences = 32;
    options_.prefix_cache = false;
    runner_.cost = [this](const ForwardBatch& batch) {
      all_ = {};
      for (const int32_t position : batch.positions) all_.Add(position);
      const double noise = 1 + Between(-5, 5) / 100.0;
      return std::chrono::nanoseconds(static_cast<int64_t>(1e9 * noise * Seconds(all_)));
    };
    core_.emplace(options_, runner_, [this] { return runner_.now(); });
  }

  // Streams that never stop, others' prompts about `gap_steps` apart (0: none), and a batch that
  // comes when they are at work.
  Counts RunBusy(int32_t gap_steps) {
    constexpr int kAloneSteps = 30;
    constexpr int kSteps = 2500;
    for (int i = Between(1, 6); i > 0; --i) Add(Between(1, 100), 2800, 0);
    for (int step = 0; step < kSteps; ++step) {
      if (step == kAloneSteps) {
        for (int i = 0; i < 40; ++i) Add(Between(1, 400), Between(1, 60), kBackgroundPriority);
      }
      if (gap_steps > 0 && Between(1, gap_steps) == 1) Add(Between(1, 800), Between(1, 200), 0);
      Step();
    }
    EXPECT_EQ(runner_.complaint(), "");
    return counts_;
  }

  Counts Run() {
    constexpr int kIdleSteps = 100;
    constexpr int kSteps = 500;
    for (int step = 0; step < kSteps; ++step) {
      if (step % 5 == 0) Add(Between(1, 400), Between(1, 60), kBackgroundPriority);
      if (step == kIdleSteps) {
        for (int i = Between(1, 6); i > 0; --i) Add(Between(1, 100), 2000, 0);
      }
      if (step > kIdleSteps && Between(1, 60) == 1) Add(Between(1, 800), 2000, 0);
      Step();
    }
    EXPECT_EQ(runner_.complaint(), "");
    return counts_;
  }

 private:
  int32_t Between(int32_t low, int32_t high) {  // both included
    return low + static_cast<int32_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  double Seconds(const Work& work) const {
    return weights_s_ + row_s_ * static_cast<double>(work.rows) +
           read_s_ * static_cast<double>(work.reads);
  }
  void Add(int32_t prompt_count, int32_t max_tokens, int32_t priority) {
    Request request = GreedyRequest(
        next_id_++, std::vector<TokenId>(static_cast<size_t>(prompt_count), 3), max_tokens);
    request.priority = priority;
    request.sampling.ignore_eos = true;
    AddRecorded(*core_, std::move(request));
  }
  // Those in the foreground: none ends within a run, and none is preempted.
  std::map<const Sequence*, int32_t> Foreground() const {
    std::map<const Sequence*, int32_t> computed;
    for (const Sequence* sequence : core_->scheduler().running()) {
      if (!sequence->is_background()) computed[sequence] = sequence->computed_count;
    }
    return computed;
  }

  void Step() {
    constexpr int64_t kLearningSteps = 10;
    const std::map<const Sequence*, int32_t> before = Foreground();
    core_->Step();
    Work foreground;
    for (const auto& [sequence, computed] : Foreground()) {
      const auto known = before.find(sequence);
      for (int32_t i = known == before.end() ? 0 : known->second; i < computed; ++i)
        foreground.Add(i);
    }
    if (foreground.rows == 0) counts_.idle_rows += all_.rows;
    if (foreground.rows == 0 || ++seen_steps_ <= kLearningSteps) return;
    ++counts_.steps;
    counts_.shared_steps += all_.rows > foreground.rows ? 1 : 0;
    counts_.long_steps += Seconds(all_) > 1.05 * Seconds(foreground) ? 1 : 0;
    counts_.rows_beside += all_.rows - foreground.rows;
    counts_.gaps.push_back(Seconds(all_));
    counts_.gaps_alone.push_back(Seconds(foreground));
  }

  std::mt19937_64 random_;
  FakeModelRunner runner_;
  double weights_s_ = 0;
  double row_s_ = 0;
  double read_s_ = 0;
  EngineOptions options_;
  std::optional<EngineCore> core_;
  RequestId next_id_ = 1;
  Work all_;  // of the last step
  int64_t seen_steps_ = 0;
  Counts counts_;
};

TEST(BackgroundPacing, StreamsDoNotFeelIt) {
  Counts sum;
  for (const uint64_t seed : FixedSeeds(100)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Counts counts = BackgroundRun(seed).Run();
    sum.steps += counts.steps;
    sum.long_steps += counts.long_steps;
    sum.shared_steps += counts.shared_steps;
    EXPECT_GT(counts.idle_rows, 100);
  }
  if (AskedSeed()) return;
  EXPECT_GT(sum.steps, 30'000);
  EXPECT_GT(sum.shared_steps, sum.steps / 20);
  EXPECT_LT(sum.long_steps, sum.steps / 200);
}

TEST(BackgroundPacing, GetsOnBesideStreamsThatNeverStop) {
  constexpr int kRuns = 10;
  for (const int32_t gap_steps : {0, 100}) {
    double worst = 0;
    for (const uint64_t seed : FixedSeeds(kRuns)) {
      SCOPED_TRACE(fmt::format("seed {}, prompts every {} steps", seed, gap_steps));
      const Counts counts = BackgroundRun(seed).RunBusy(gap_steps);
      EXPECT_EQ(counts.idle_rows, 0);
      EXPECT_GE(counts.rows_beside, 5);
      worst += Worst(counts.gaps) / Worst(counts.gaps_alone) / kRuns;
    }
    if (AskedSeed()) continue;
    EXPECT_LT(worst, 1.05) << "prompts every " << gap_steps << " steps";
  }
}

}  // namespace
}  // namespace weft
