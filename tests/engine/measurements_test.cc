// What the engine tells of its steps and requests: times, gaps and counts, on a clock that the fake
// model moves.
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine_core.h"
#include "tests/engine/fake_model_runner.h"
#include "tests/engine/recording_sink.h"
#include "tests/engine/requests.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

using Time = RequestTimes::Time;

auto Gap(milliseconds gap, int32_t token_count) {
  return AllOf(Field(&TokenGap::gap, std::chrono::nanoseconds(gap)),
               Field(&TokenGap::token_count, token_count));
}

// Every step takes 10 ms, and the first begins at kStart.
class MeasurementsTest : public ::testing::Test {
 protected:
  static constexpr Time kStart{std::chrono::hours(1)};

  explicit MeasurementsTest(int64_t block_count = 16)
      : runner_({.vocab_size = 26, .block_size = 4, .block_count = block_count}) {
    options_.max_context = 64;
    options_.max_batch_tokens = 16;
    options_.max_sequences = 4;
    runner_.cost = [](const ForwardBatch&) { return milliseconds(10); };
  }

  EngineCore& core() {
    if (!core_) {
      core_.emplace(options_, runner_,
                    [this] { return kStart + runner_.now().time_since_epoch(); });
    }
    return *core_;
  }

  Request MakeRequest(int32_t prompt_tokens, int32_t max_tokens) {
    return GreedyRequest(next_id_++, std::vector<TokenId>(static_cast<size_t>(prompt_tokens), 1),
                         max_tokens);
  }

  std::shared_ptr<RecordingSink> Add(Request request) {
    return AddRecorded(core(), std::move(request));
  }

  StepReport Step() {
    core().Step();
    return core().TakeReport();
  }

  // All that happens until nothing is left to do.
  StepReport Finish() {
    StepReport sum;
    while (core().has_work()) {
      const StepReport report = Step();
      sum.computed_prompt_tokens += report.computed_prompt_tokens;
      sum.sampled_tokens += report.sampled_tokens;
      sum.preemptions += report.preemptions;
      for (const TokenGap& gap : report.token_gaps) sum.token_gaps.push_back(gap);
      for (const FinishedChoice& choice : report.finished_choices)
        sum.finished_choices.push_back(choice);
    }
    return sum;
  }

  EngineOptions options_;
  FakeModelRunner runner_;
  std::optional<EngineCore> core_;
  RequestId next_id_ = 1;
};

TEST_F(MeasurementsTest, ARequestsTimesFollowItThroughItsSteps) {
  options_.max_sequences = 1;
  Request first = MakeRequest(20, 3);  // two steps of prompt, two of decoding
  first.received = kStart - milliseconds(5);
  Add(std::move(first));
  const auto waits = Add(MakeRequest(4, 1));
  StepReport report = Step();
  EXPECT_EQ(report.computed_prompt_tokens, 0);
  EXPECT_EQ(report.sampled_tokens, 0);
  report = Step();
  EXPECT_EQ(report.computed_prompt_tokens, 20);
  EXPECT_EQ(report.sampled_tokens, 1);
  EXPECT_THAT(report.token_gaps, IsEmpty());
  ASSERT_EQ(report.first_tokens.size(), 1U);
  EXPECT_EQ(report.first_tokens[0].received, kStart - milliseconds(5));
  EXPECT_EQ(report.first_tokens[0].first_token, kStart + milliseconds(20));
  report = Step();
  EXPECT_THAT(report.first_tokens, IsEmpty());
  EXPECT_EQ(report.computed_prompt_tokens, 0);
  EXPECT_EQ(report.sampled_tokens, 1);
  EXPECT_THAT(report.token_gaps, ElementsAre(Gap(milliseconds(10), 1)));
  report = Step();
  ASSERT_EQ(report.finished_choices.size(), 1U);
  const FinishedChoice& choice = report.finished_choices.front();
  EXPECT_EQ(choice.reason, FinishReason::kLength);
  EXPECT_TRUE(choice.generates);
  EXPECT_TRUE(choice.last);
  EXPECT_EQ(choice.prompt_tokens, 20);
  EXPECT_EQ(choice.completion_tokens, 3);
  EXPECT_EQ(choice.max_tokens, 3);
  EXPECT_EQ(choice.times.received, kStart - milliseconds(5));
  EXPECT_EQ(choice.times.submitted, kStart);
  EXPECT_EQ(choice.times.started, kStart);
  EXPECT_EQ(choice.times.first_token, kStart + milliseconds(20));
  EXPECT_EQ(choice.times.finished, kStart + milliseconds(40));
  EXPECT_FALSE(waits->finished());
  Finish();
  const RequestTimes& times = waits->choice().finishes.at(0).times;
  EXPECT_EQ(times.received, kStart);
  EXPECT_EQ(times.submitted, kStart);
  EXPECT_EQ(times.started, kStart + milliseconds(40));
  EXPECT_EQ(times.first_token, kStart + milliseconds(50));
  EXPECT_EQ(times.finished, kStart + milliseconds(50));
}

TEST_F(MeasurementsTest, ChoicesShareTheirPromptAndEachHasItsGaps) {
  Request request = MakeRequest(4, 3);
  request.choice_count = 3;
  Add(std::move(request));
  StepReport report = Step();
  EXPECT_EQ(report.sampled_tokens, 3);
  EXPECT_EQ(report.first_tokens.size(), 3U);
  report = Step();
  EXPECT_EQ(report.sampled_tokens, 3);
  EXPECT_THAT(report.token_gaps, ElementsAre(Gap(milliseconds(10), 3)));
  const StepReport rest = Finish();
  EXPECT_EQ(rest.finished_choices.size(), 3U);
  EXPECT_FALSE(rest.finished_choices[0].last);
  EXPECT_TRUE(rest.finished_choices[2].last);
  EXPECT_EQ(rest.finished_choices[2].choice_count, 3);
}

TEST_F(MeasurementsTest, ATokenThatEndsAChoiceCounts) {
  options_.end_tokens = {2};
  runner_.fill_logits = [](uint64_t, TokenId, int32_t position, float* logits) {
    std::fill_n(logits, 26, 0.0F);
    logits[position == 5 ? 2 : 1] = 20;
  };
  Add(MakeRequest(4, 10));
  const StepReport all = Finish();
  EXPECT_EQ(all.sampled_tokens, 3);
  EXPECT_EQ(all.finished_choices.at(0).completion_tokens, 3);
  EXPECT_EQ(all.finished_choices.at(0).reason, FinishReason::kStop);
}

TEST_F(MeasurementsTest, WhatNeverStartedHasNoTimesOfSteps) {
  options_.max_sequences = 1;
  Add(MakeRequest(4, 5));
  Request request = MakeRequest(4, 5);
  const RequestId id = request.id;
  Add(std::move(request));
  Step();
  core().Abort(id);
  const StepReport report = core().TakeReport();
  ASSERT_EQ(report.finished_choices.size(), 1U);
  EXPECT_EQ(report.finished_choices[0].reason, FinishReason::kAborted);
  EXPECT_EQ(report.finished_choices[0].times.started, Time());
  EXPECT_EQ(report.finished_choices[0].times.first_token, Time());
  EXPECT_EQ(report.finished_choices[0].times.finished, kStart + milliseconds(10));
}

TEST_F(MeasurementsTest, BeamsCountWhatIsReturned) {
  Request request = MakeRequest(4, 5);
  request.choice_count = 2;
  request.sampling.beam_width = 3;
  Add(std::move(request));
  const StepReport all = Finish();
  EXPECT_EQ(all.sampled_tokens, 10);
  EXPECT_EQ(all.computed_prompt_tokens, 4);
  EXPECT_EQ(all.finished_choices.size(), 2U);
}

TEST_F(MeasurementsTest, AnEmbeddingGeneratesNothing) {
  Request request = MakeRequest(4, 0);
  request.pooling = {.pooling = Pooling::kMean};
  Add(std::move(request));
  const StepReport all = Finish();
  EXPECT_EQ(all.computed_prompt_tokens, 4);
  EXPECT_EQ(all.sampled_tokens, 0);
  EXPECT_FALSE(all.finished_choices.at(0).generates);
  EXPECT_EQ(all.finished_choices.at(0).times.first_token, kStart + milliseconds(10));
}

class PreemptionMeasurementsTest : public MeasurementsTest {
 protected:
  PreemptionMeasurementsTest() : MeasurementsTest(6) {}
};

TEST_F(PreemptionMeasurementsTest, RecomputationIsAGapAndCountsNoPromptTwice) {
  Add(MakeRequest(4, 12));
  Request other = MakeRequest(4, 12);
  other.prompt[0] = 2;    // shares nothing
  Add(std::move(other));  // together they need 8 blocks
  const StepReport all = Finish();
  EXPECT_GT(all.preemptions, 0);
  EXPECT_EQ(all.computed_prompt_tokens, 8);
  EXPECT_EQ(all.sampled_tokens, 24);
  int32_t gap_count = 0;
  milliseconds longest{0};
  for (const TokenGap& gap : all.token_gaps) {
    gap_count += gap.token_count;
    longest = std::max(longest, std::chrono::duration_cast<milliseconds>(gap.gap));
  }
  EXPECT_EQ(gap_count, 22);
  EXPECT_GT(longest, milliseconds(10));
}

}  // namespace
}  // namespace weft
