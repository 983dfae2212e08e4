// What requests in the background get of steps, and what they leave to all others.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/scheduler.h"
#include "tests/engine/scheduler_fixture.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

class SchedulerBackgroundTest : public SchedulerTest {
 protected:
  Sequence& AddBehind(int32_t prompt_count) { return Add(prompt_count, 1, kBackgroundPriority); }
  // A machine on which a step that decodes costs so much.
  void TeachDecoding(double fixed_ms, double row_ms) {
    for (int32_t i = 0; i < 40; ++i) {
      StepPlan plan;
      const int32_t row_count = 1 << (i % 5);
      for (int32_t row = 0; row < row_count; ++row) plan.shape.AddDecode(3);
      const double ms = fixed_ms + row_ms * row_count;
      scheduler_->Learn(plan, std::chrono::microseconds(static_cast<int64_t>(ms * 1000)));
    }
  }
  // Which sequences the last step had.
  std::vector<const Sequence*> Planned() const {
    std::vector<const Sequence*> planned;
    for (const PlannedSequence& each : plan_.sequences) planned.push_back(each.sequence);
    return planned;
  }
};

TEST_F(SchedulerBackgroundTest, HasIdleStepsForItself) {
  Start({.block_size = 4, .max_batch_tokens = 10, .max_sequences = 4}, 100);
  AddBehind(15);
  EXPECT_THAT(Step(), ElementsAre(10));
  EXPECT_THAT(Step(), ElementsAre(5));
  EXPECT_THAT(Step(), ElementsAre(1));
  EXPECT_EQ(plan_.stream_count, 0);  // nobody reads along
}

TEST_F(SchedulerBackgroundTest, AnIdleStepIsNotLongerThanAStreamMayWait) {
  Start({.block_size = 16, .max_batch_tokens = 512, .max_sequences = 8}, 1000);
  Teach(/*fixed_ms=*/20, /*row_ms=*/1);
  AddBehind(1000);
  EXPECT_THAT(Step(), ElementsAre(64));  // in whole tiles
  EXPECT_NEAR(plan_.predicted_seconds, 0.085, 0.005);
}

TEST_F(SchedulerBackgroundTest, BesideAStreamThereIsThreePercentForIt) {
  Start({.block_size = 16, .max_batch_tokens = 512, .max_sequences = 64}, 1000);
  for (int i = 0; i < 20; ++i) AddBehind(3);
  for (int i = 0; i < 3; ++i) Step();
  const Sequence& stream = Add(3);
  Step();
  TeachDecoding(/*fixed_ms=*/20, /*row_ms=*/0.1);  // a stream takes 20.1: there are 0.6 more
  EXPECT_EQ(Step().size(), 6U);                    // itself and five of them
  EXPECT_EQ(Planned().front(), &stream);
  EXPECT_LT(plan_.predicted_seconds, 0.0201 * 1.03 + 1e-5);
  TeachDecoding(/*fixed_ms=*/20, /*row_ms=*/1);
  EXPECT_THAT(Step(), ElementsAre(1));
}

TEST_F(SchedulerBackgroundTest, ItsPromptsDoNotLengthenTheStepsOfStreams) {
  Start({.block_size = 16, .max_batch_tokens = 512, .max_sequences = 8}, 1000);
  Add(3);
  Step();
  AddBehind(1000);
  EXPECT_THAT(Step(), ElementsAre(1));  // nothing is known yet
  Teach(/*fixed_ms=*/20, /*row_ms=*/1);
  EXPECT_THAT(Step(), ElementsAre(1));
  Teach(/*fixed_ms=*/20, /*row_ms=*/0.01);
  EXPECT_THAT(Step(), ElementsAre(1, 47));  // 0.6 ms, three tiles with the stream
}

TEST_F(SchedulerBackgroundTest, ItsFirstPromptBeginsBesideAStreamThatNeverStops) {
  Start({.block_size = 16, .max_batch_tokens = 512, .max_sequences = 8}, 1000);
  Add(3);
  Step();
  TeachDecoding(/*fixed_ms=*/20, /*row_ms=*/0.1);
  const Sequence& behind = AddBehind(100);
  int32_t alone = 0;
  while (behind.computed_count == 0 && alone < 1000) {
    alone += Step().size() == 1 ? 1 : 0;
    TeachDecoding(/*fixed_ms=*/20, /*row_ms=*/0.1);
  }
  EXPECT_EQ(alone, 512);
  EXPECT_EQ(behind.computed_count, 1);  // what a row costs is to be learned
  Teach(1, 20.2, 1);
  EXPECT_THAT(Step(), ElementsAre(1, 2));  // twice as many, of a tile that is not full
  Teach(2, 20.3, 1);
  EXPECT_THAT(Step(), ElementsAre(1, 4));
}

TEST_F(SchedulerBackgroundTest, BesidePromptsThatNeverStopItGetsOn) {
  Start({.block_size = 16, .max_batch_tokens = 64, .max_sequences = 8}, 10'000);
  Teach(40, 24, 50);  // nothing but chunks
  const Sequence& behind = AddBehind(1);
  std::vector<const Sequence*> prompts;
  for (int i = 0; i < 600; ++i) {
    prompts.push_back(&Add(40));
    Step();
    Remove(*prompts.back());
    Teach(40, 24, 1);
  }
  EXPECT_EQ(behind.computed_count, 1);
}

TEST_F(SchedulerBackgroundTest, WhoHasWaitedForLongGetsAStepAsLongAsOthersHave) {
  Start({.block_size = 16, .max_batch_tokens = 512, .max_sequences = 8}, 1000);
  Teach(/*fixed_ms=*/20, /*row_ms=*/1);
  AddBehind(400);
  Step();  // alone
  Add(100);
  Step();
  const Sequence& stream = Add(20);  // while the first one gets its second token
  Step();
  const double longest = plan_.predicted_seconds;
  EXPECT_NEAR(longest, 0.041, 0.002);
  double behind = 0;
  for (int i = 0; i < 600; ++i) {
    Teach(/*fixed_ms=*/20, /*row_ms=*/1);
    Step();
    if (plan_.row_count > 2) behind = std::max(behind, plan_.predicted_seconds);
  }
  EXPECT_EQ(stream.state, SequenceState::kRunning);
  EXPECT_GT(behind, 0.035);
  EXPECT_LE(behind, longest + 1e-4);
}

TEST_F(SchedulerBackgroundTest, SlotsAreGivenUpToWhoeverComes) {
  Start({.block_size = 4, .max_batch_tokens = 32, .max_sequences = 2}, 100);
  const Sequence& first = AddBehind(3);
  const Sequence& second = AddBehind(3);
  Step();
  const Sequence& stream = Add(3);
  Step();
  EXPECT_THAT(Planned(), ElementsAre(&stream));  // within the same step
  EXPECT_EQ(second.state, SequenceState::kWaiting);
  EXPECT_EQ(first.state, SequenceState::kRunning);
  Add(3);
  Step();
  EXPECT_EQ(first.state, SequenceState::kWaiting);
}

TEST_F(SchedulerBackgroundTest, BlocksAreGivenUpToWhoeverComes) {
  Start({.block_size = 4, .max_batch_tokens = 64, .max_sequences = 8}, 10);
  const Sequence& behind = AddBehind(35);
  Step();
  EXPECT_EQ(behind.state, SequenceState::kRunning);
  const Sequence& stream = Add(20);
  Step();
  EXPECT_THAT(Planned(), ElementsAre(&stream));
  EXPECT_EQ(behind.state, SequenceState::kWaiting);
  EXPECT_EQ(pool().free_count(), 5);
}

TEST_F(SchedulerBackgroundTest, NoneIsAdmittedWhileAnotherWaits) {
  Start({.block_size = 4, .max_batch_tokens = 64, .max_sequences = 8}, 10);
  const Sequence& stream = Add(20);
  Step();
  const Sequence& large = Add(30);  // there are no blocks for it
  const Sequence& behind = AddBehind(3);
  Step();
  EXPECT_EQ(large.state, SequenceState::kWaiting);
  EXPECT_EQ(behind.state, SequenceState::kWaiting);
  Remove(stream);
  Step();
  EXPECT_EQ(large.state, SequenceState::kRunning);
}

TEST_F(SchedulerBackgroundTest, ItTakesNoPartWhereSlotsAreSharedOut) {
  Start({.block_size = 4, .max_batch_tokens = 64, .max_sequences = 4}, 100);
  for (int i = 0; i < 4; ++i) AddOfJob(1, 3);
  AddBehind(3);
  EXPECT_THAT(Step(), ElementsAre(3, 3, 3, 3));
  EXPECT_THAT(Step(), ElementsAre(1, 1, 1, 1));  // none gives way
}

TEST_F(SchedulerBackgroundTest, APromptOfOneJobIsNotCutForItsSake) {
  Start({.block_size = 16, .max_batch_tokens = 512, .max_sequences = 8}, 1000);
  Teach(/*fixed_ms=*/20, /*row_ms=*/10);
  AddBehind(1000);
  Add(1000);
  EXPECT_THAT(Step(), ElementsAre(512));
  EXPECT_EQ(plan_.predicted_seconds, 0);
}

}  // namespace
}  // namespace weft
