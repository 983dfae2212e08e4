// The scheduler's policy, and what the batch builder makes of its plans, without a model.
#include "engine/scheduler.h"

#include <chrono>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/batch_builder.h"
#include "tests/engine/scheduler_fixture.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

TEST_F(SchedulerTest, DecodesFirstThenPromptsInChunks) {
  Start({.block_size = 4, .max_batch_tokens = 10, .max_sequences = 4}, 100);
  Add(3);
  EXPECT_THAT(Step(), ElementsAre(3));
  Add(15);
  Add(4);
  EXPECT_THAT(Step(), ElementsAre(1, 9));
  EXPECT_THAT(Step(), ElementsAre(1, 6, 3));
  EXPECT_THAT(Step(), ElementsAre(1, 1, 1));
}

TEST_F(SchedulerTest, ChunksBesideAStreamAreCutToTheTime) {
  Start({.block_size = 16, .max_batch_tokens = 512, .max_sequences = 8}, 1000);
  Add(3);
  Step();
  Add(1000);
  EXPECT_THAT(Step(), ElementsAre(1, 32));  // nothing is known yet
  Teach(/*fixed_ms=*/20, /*row_ms=*/1);
  EXPECT_THAT(Step(), ElementsAre(1, 79));  // 80 rows, five tiles
  EXPECT_NEAR(plan_.predicted_seconds, 0.1, 0.005);
  EXPECT_EQ(plan_.stream_count, 1);
  Teach(/*fixed_ms=*/20, /*row_ms=*/0.1);
  EXPECT_THAT(Step(), ElementsAre(1, 511));  // all rows that there are
}

TEST_F(SchedulerTest, WhereNobodyElseWaitsTimeDoesNotCount) {
  Start({.block_size = 16, .max_batch_tokens = 512, .max_sequences = 8}, 1000);
  Teach(/*fixed_ms=*/20, /*row_ms=*/10);
  AddOfJob(1, 1000);
  AddOfJob(1, 1);
  EXPECT_THAT(Step(), ElementsAre(511, 1));
  EXPECT_EQ(plan_.predicted_seconds, 0);
}

TEST_F(SchedulerTest, PromptsOfSeveralJobsShareAShortStep) {
  Start({.block_size = 16, .max_batch_tokens = 512, .max_sequences = 8}, 1000);
  Teach(/*fixed_ms=*/20, /*row_ms=*/1);
  Add(1000);
  Add(1000);
  EXPECT_THAT(Step(), ElementsAre(112, 32));  // 160 ms: eight times what no row at all costs
  EXPECT_NEAR(plan_.predicted_seconds, 0.160, 0.005);
  EXPECT_EQ(plan_.stream_count, 0);
  Teach(/*fixed_ms=*/1, /*row_ms=*/1);
  EXPECT_THAT(Step(), ElementsAre(80, 16));
  EXPECT_NEAR(plan_.predicted_seconds, 0.1, 0.005);
}

TEST_F(SchedulerTest, OfWhatAStepCostsWithoutRowsASmallOneTells) {
  Start({.block_size = 16, .max_batch_tokens = 512, .max_sequences = 8}, 1000);
  Teach(511, 512, 20);
  Add(1000);
  Add(1000);
  EXPECT_THAT(Step(), ElementsAre(24, 8));
  Teach(31, 40, 1);
  EXPECT_THAT(Step(), ElementsAre(64, 16));  // in 100 ms
}

TEST_F(SchedulerTest, PromptsGetHalfOfTheTimeWhereDecodingTakesMore) {
  Start({.block_size = 16, .max_batch_tokens = 512, .max_sequences = 8}, 1000);
  Add(3);
  Step();
  Add(1000);
  Teach(/*fixed_ms=*/198, /*row_ms=*/1);
  EXPECT_THAT(Step(), ElementsAre(1, 191));
  EXPECT_NEAR(plan_.predicted_seconds, 0.389, 0.005);
}

TEST_F(SchedulerTest, TriesATileMoreWhereThereIsTimeAndNobodyKnows) {
  Start({.block_size = 16, .max_batch_tokens = 512, .max_sequences = 8}, 1000);
  Add(3);
  Step();
  Add(1000);
  Teach(0, 50, 20);
  Teach(15, 80, 20);  // two ms a row: 31 rows are thought to take 112
  EXPECT_THAT(Step(), ElementsAre(1, 31));
  Teach(31, 112, 1);
  EXPECT_THAT(Step(), ElementsAre(1, 15));
  Teach(15, 80, 33);
  EXPECT_THAT(Step(), ElementsAre(1, 31));
  Teach(31, 85, 1);  // now it is faster
  Teach(15, 68, 5);
  EXPECT_THAT(Step(), ElementsAre(1, 31));
}

TEST_F(SchedulerTest, TheOldestPromptAlwaysGetsARestOfATile) {
  Start({.block_size = 16, .max_batch_tokens = 512, .max_sequences = 8}, 1000);
  Add(3);
  Step();
  Teach(/*fixed_ms=*/20, /*row_ms=*/1000);
  Add(1000);
  Add(1000);
  EXPECT_THAT(Step(), ElementsAre(1, 15));
  EXPECT_EQ(scheduler_->line().size(), 1U);  // no row for it, so it holds no blocks
}

TEST_F(SchedulerTest, ShortPromptsDoNotWaitForLongOnes) {
  Start({.block_size = 16, .max_batch_tokens = 512, .max_sequences = 8}, 1000);
  Teach(/*fixed_ms=*/0.1, /*row_ms=*/0.1);
  Add(5000);
  Add(40);
  Add(3000);
  EXPECT_THAT(Step(), ElementsAre(364, 40, 108));  // half, what it needs, half of the rest; rest
  Teach(/*fixed_ms=*/20, /*row_ms=*/0.95);
  Add(20);
  EXPECT_THAT(Step(), ElementsAre(1, 47, 16, 20));
}

TEST_F(SchedulerTest, SlotsLimitWhoRuns) {
  Start({.block_size = 4, .max_batch_tokens = 100, .max_sequences = 2}, 100);
  Sequence& first = Add(1);
  Add(2);
  Sequence& third = Add(3);
  EXPECT_THAT(Step(), ElementsAre(1, 2));
  EXPECT_EQ(scheduler_->line().size(), 1U);
  scheduler_->Remove(first);
  EXPECT_THAT(Step(), ElementsAre(1, 3));
  EXPECT_EQ(third.state, SequenceState::kRunning);
}

// Though its job computes a prompt already, and others' would be next for that.
TEST_F(SchedulerTest, NobodyOvertakesWhoLacksBlocks) {
  Start({.block_size = 4, .max_batch_tokens = 32, .max_sequences = 8}, 20);
  AddOfJob(100, 40);  // ten blocks
  AddOfJob(200, 3);
  Step();
  const Sequence& next = AddOfJob(100, 40);
  const Sequence& small = AddOfJob(200, 3);
  for (int i = 0; i < 5; ++i) Step();
  EXPECT_EQ(next.state, SequenceState::kWaiting);
  EXPECT_EQ(small.state, SequenceState::kWaiting);
  Remove(next);
  Step();
  EXPECT_EQ(small.state, SequenceState::kRunning);
}

TEST_F(SchedulerTest, APromptKeepsSlotsForItsChoicesAsFarAsNobodyElseNeedsThem) {
  Start({.block_size = 4, .max_batch_tokens = 32, .max_sequences = 4}, 1000);
  Sequence& four = Add(500, 4);
  EXPECT_THAT(Step(), ElementsAre(32));
  EXPECT_EQ(four.slot_count, 4);
  Sequence& other = Add(500, 2);
  EXPECT_THAT(Step(), ElementsAre(24, 8));
  EXPECT_EQ(four.slot_count, 3);
  EXPECT_EQ(other.slot_count, 1);
  Sequence& another = Add(500, 2);
  EXPECT_THAT(Step(), ElementsAre(16, 8, 8));
  EXPECT_EQ(four.slot_count, 2);
  EXPECT_EQ(another.slot_count, 1);
  Add(500);
  Step();
  EXPECT_EQ(four.slot_count, 2);  // half
  EXPECT_EQ(scheduler_->line().size(), 1U);
}

TEST_F(SchedulerTest, ChoicesWithoutASlotWaitWithTheirFirstTokenAndStartFromThePromptsBlocks) {
  Start({.block_size = 4, .max_batch_tokens = 100, .max_sequences = 4, .keeps_contents = true},
        100);
  Sequence& lone = Add(1);
  Sequence& four = Add(9, 4);
  Step();
  EXPECT_EQ(Count(four, SequenceState::kRunning), 3);
  EXPECT_EQ(Count(four, SequenceState::kWaiting), 1);
  const Sequence& last = *ChoicesOf(four).back();
  EXPECT_EQ(last.state, SequenceState::kWaiting);
  EXPECT_EQ(last.token_count(), 10);
  EXPECT_EQ(last.blocks.of(0).block_count(), 0);
  scheduler_->Remove(lone);
  EXPECT_THAT(Step(), ElementsAre(1, 1, 1, 2));  // the prompt's last position, and its own
  EXPECT_EQ(last.state, SequenceState::kRunning);
  EXPECT_EQ(last.blocks.of(0).blocks()[1], four.blocks.of(0).blocks()[1]);
}

TEST_F(SchedulerTest, AJobGivesWayDownToHalfOfTheSlots) {
  Start({.block_size = 4, .max_batch_tokens = 100, .max_sequences = 4}, 100);
  Sequence& four = Add(2, 4);
  Step();
  EXPECT_EQ(Count(four, SequenceState::kRunning), 4);
  Add(1);
  EXPECT_THAT(Step(), ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(plan_.preemptions, 1);
  EXPECT_EQ(ChoicesOf(four)[3]->state, SequenceState::kWaiting);  // the newest
  Add(1);
  Add(1);
  Step();
  EXPECT_EQ(plan_.preemptions, 1);
  EXPECT_EQ(Count(four, SequenceState::kRunning), 2);
  Step();
  EXPECT_EQ(plan_.preemptions, 0);
  EXPECT_EQ(scheduler_->line().size(), 3U);
  EXPECT_EQ(requests_[3].first_choice().state, SequenceState::kWaiting);
}

TEST_F(SchedulerTest, AJobOfManyRequestsIsOne) {
  Start({.block_size = 4, .max_batch_tokens = 100, .max_sequences = 4}, 100);
  for (int i = 0; i < 8; ++i) AddOfJob(1, 1);
  Step();
  Sequence& other = Add(1);
  Step();
  EXPECT_EQ(other.state, SequenceState::kRunning);
  EXPECT_EQ(scheduler_->line().slot_count(1), 3);
  // Whoever holds less is next, however long the others have been there.
  Sequence& another = Add(1);
  scheduler_->Remove(requests_[0].first_choice());
  Step();
  EXPECT_EQ(another.state, SequenceState::kRunning);
  EXPECT_EQ(scheduler_->line().slot_count(1), 2);
  scheduler_->Remove(other);
  scheduler_->Remove(another);
  Step();
  EXPECT_EQ(scheduler_->line().slot_count(1), 4);  // nobody else waits
}

TEST_F(SchedulerTest, AJobsSecondPromptComesAfterTheFirstOnesOfOthers) {
  Start({.block_size = 16, .max_batch_tokens = 64, .max_sequences = 8}, 1000);
  Teach(/*fixed_ms=*/0.1, /*row_ms=*/0.1);
  AddOfJob(1, 1000);
  AddOfJob(1, 1000);
  AddOfJob(1, 1000);
  EXPECT_THAT(Step(), ElementsAre(40, 16, 8));
  Add(1000);
  EXPECT_THAT(Step(), ElementsAre(32, 16, 8, 8));
  EXPECT_EQ(plan_.sequences[1].sequence, &requests_[3].first_choice());
}

TEST_F(SchedulerTest, OnlyThoseThatWaitedOvertakeASearchThatDoesNotFit) {
  Start({.block_size = 4, .max_batch_tokens = 100, .max_sequences = 6}, 100);
  std::vector<Sequence*> running;
  for (int i = 0; i < 5; ++i) running.push_back(&Add(1));
  Step();
  Sequence& search = AddSearch(1, 3);
  Sequence& waited = Add(1);
  Step();
  EXPECT_EQ(search.state, SequenceState::kWaiting);
  EXPECT_EQ(waited.state, SequenceState::kRunning);
  Sequence& later = Add(1);
  for (int i = 0; i < 3; ++i) {
    Step();
    EXPECT_EQ(search.state, SequenceState::kWaiting);
    EXPECT_EQ(later.state, SequenceState::kWaiting);
    scheduler_->Remove(*running[static_cast<size_t>(i)]);
  }
  Step();
  EXPECT_EQ(search.state, SequenceState::kRunning);
  EXPECT_EQ(later.state, SequenceState::kWaiting);
  scheduler_->Remove(waited);
  Step();
  EXPECT_EQ(later.state, SequenceState::kRunning);
}

TEST_F(SchedulerTest, ASearchWiderThanHalfGoesAfterThoseThatWaitAndThenKeepsItsSlots) {
  Start({.block_size = 4, .max_batch_tokens = 100, .max_sequences = 4}, 100);
  Sequence& search = AddSearch(1, 3);
  Sequence& waited = Add(1);
  Sequence& also_waited = Add(1);
  Step();
  EXPECT_EQ(search.state, SequenceState::kWaiting);
  EXPECT_EQ(waited.state, SequenceState::kRunning);
  EXPECT_EQ(also_waited.state, SequenceState::kRunning);
  Sequence& later = Add(1);
  Step();
  scheduler_->Remove(waited);
  Step();
  EXPECT_EQ(search.state, SequenceState::kRunning);
  EXPECT_EQ(later.state, SequenceState::kWaiting);
  Step();
  EXPECT_EQ(Count(search, SequenceState::kRunning), 3);
}

TEST_F(SchedulerTest, BeamsGiveWayAndComeBackTogether) {
  Start({.block_size = 4, .max_batch_tokens = 100, .max_sequences = 4}, 100);
  Sequence& old = AddSearch(2, 2, /*job_id=*/1);
  Sequence& young = AddSearch(2, 2, /*job_id=*/1);
  Step();
  EXPECT_EQ(Count(young, SequenceState::kRunning), 2);
  Sequence& other = Add(1);
  EXPECT_THAT(Step(), ElementsAre(1, 1, 1));
  EXPECT_EQ(plan_.preemptions, 2);
  EXPECT_EQ(Count(old, SequenceState::kRunning), 2);
  EXPECT_EQ(Count(young, SequenceState::kWaiting), 2);
  EXPECT_EQ(scheduler_->line().size(), 1U);
  Step();
  scheduler_->Remove(other);
  EXPECT_THAT(Step(), ElementsAre(1, 1, 2, 2));  // the last positions wait for each other
  EXPECT_THAT(Step(), ElementsAre(1, 1, 1, 1));
  Remove(old);
  Remove(young);
  EXPECT_EQ(pool().used_count(), 0);
}

TEST_F(SchedulerTest, AdmissionLeavesABlockForEachThatRuns) {
  Start({.block_size = 4, .max_batch_tokens = 100, .max_sequences = 8}, 5);
  Add(4);   // 1 block, grows to 2
  Add(12);  // 3 blocks; leaves 1 for the first
  Add(1);
  EXPECT_THAT(Step(), ElementsAre(4, 12));
  EXPECT_EQ(scheduler_->line().size(), 1U);
}

TEST_F(SchedulerTest, TheNewestGivesUpItsBlocksAndComesBack) {
  Start({.block_size = 2, .max_batch_tokens = 100, .max_sequences = 8}, 4);
  Sequence& old = Add(1);
  Sequence& young = Add(2);
  EXPECT_THAT(Step(), ElementsAre(1, 2));
  EXPECT_THAT(Step(), ElementsAre(1, 1));  // 1 and 2 blocks
  EXPECT_THAT(Step(), ElementsAre(1, 1));  // 2 and 2
  EXPECT_THAT(Step(), ElementsAre(1));     // the old one's fourth; the young one's fifth token
  EXPECT_EQ(plan_.preemptions, 1);
  EXPECT_EQ(young.state, SequenceState::kWaiting);
  EXPECT_EQ(young.computed_count, 0);
  EXPECT_EQ(young.token_count(), 5);
  EXPECT_EQ(young.blocks.of(0).block_count(), 0);
  scheduler_->Remove(old);
  EXPECT_THAT(Step(), ElementsAre(5));
}

TEST_F(SchedulerTest, PriorityDecidesWhoIsOlder) {
  Start({.block_size = 2, .max_batch_tokens = 100, .max_sequences = 1}, 10);
  Sequence& ordinary = Add(3);
  Sequence& urgent = Add(2, 1, -1);
  EXPECT_THAT(Step(), ElementsAre(2));
  EXPECT_EQ(urgent.state, SequenceState::kRunning);
  EXPECT_EQ(ordinary.state, SequenceState::kWaiting);
}

TEST_F(SchedulerTest, ForkedChoicesCopyOnlyThePartialBlockAndTheLastWritesInPlace) {
  Start({.block_size = 4, .max_batch_tokens = 100, .max_sequences = 3}, 10);
  Sequence& first = Add(6, 3);
  Step();
  EXPECT_EQ(pool().used_count(), 2);
  StepPlan plan = scheduler_->Plan();
  EXPECT_EQ(plan.row_count, 3);
  ASSERT_EQ(plan.copies.size(), 2U);
  EXPECT_EQ(plan.copies[0].from, plan.copies[1].from);
  EXPECT_EQ(pool().used_count(), 4);
  EXPECT_EQ(pool().reference_count(first.blocks.of(0).blocks()[0]), 3);
}

TEST_F(SchedulerTest, BatchRowsCarryPhasesForLifeAndAskForTheLogitsThatAreNeeded) {
  Start({.block_size = 4, .max_batch_tokens = 5, .max_sequences = 4}, 10);
  Sequence& sequence = Add(3);
  Step();
  Step();  // two tokens generated
  sequence.next_prompt_logprob = 1;
  // As after preemption: everything again, in chunks.
  scheduler_->Remove(sequence);
  sequence.computed_count = 0;
  scheduler_->Add(sequence);
  sequence.tokens.push_back(8);  // six tokens, three of them generated
  BatchBuilder builder(5, *pools_);
  StepPlan plan = scheduler_->Plan();
  ForwardBatch batch = builder.Build(plan);
  EXPECT_THAT(batch.positions, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(batch.phases,
              ElementsAre(TokenPhase::kPrompt, TokenPhase::kPrompt, TokenPhase::kPrompt,
                          TokenPhase::kGenerated, TokenPhase::kGenerated));
  EXPECT_THAT(batch.logit_rows, ElementsAre(1));  // position 1 predicts the prompt's last token
  scheduler_->Commit(plan);
  plan = scheduler_->Plan();
  batch = builder.Build(plan);
  EXPECT_THAT(batch.token_ids, ElementsAre(8));
  EXPECT_THAT(batch.positions, ElementsAre(5));
  EXPECT_THAT(batch.logit_rows, ElementsAre(0));
  ASSERT_EQ(batch.sequences.size(), 1U);
  EXPECT_EQ(batch.sequences[0].block_tables[0].size(), 2U);
}

}  // namespace
}  // namespace weft
