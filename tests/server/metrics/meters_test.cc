// What the engine thread counts: steps, choices, work, experts.
#include <array>
#include <chrono>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/metrics/engine_meter.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

RequestTimes::Time At(int ms) {
  return RequestTimes::Time(std::chrono::hours(1)) + milliseconds(ms);
}

// A choice that came at 0 ms, into the queue at 10, and so on.
FinishedChoice Choice(FinishReason reason, int started, int first_token, int finished) {
  FinishedChoice choice;
  choice.reason = reason;
  choice.prompt_tokens = 100;
  choice.completion_tokens = 11;
  choice.max_tokens = 20;
  choice.last = true;
  choice.times = {.received = At(0),
                  .submitted = At(10),
                  .started = At(started),
                  .first_token = At(first_token),
                  .finished = At(finished)};
  return choice;
}

int64_t CountOf(const BucketCounts& counts) {
  int64_t sum = 0;
  for (const int64_t count : counts.counts()) sum += count;
  return sum;
}

TEST(BucketCounts, ABoundBelongsToItsBucket) {
  static constexpr std::array kBounds = {1.0, 2.0};
  BucketCounts counts(kBounds);
  for (const double value : {0.5, 1.0, 1.5, 2.0, 2.5}) counts.Add(value);
  counts.Add(3, 4);
  EXPECT_THAT(counts.counts(), ElementsAre(2, 2, 5));
  EXPECT_DOUBLE_EQ(counts.sum(), 19.5);
}

TEST(EngineMeter, TheLongestStepIsTakenOnce) {
  EngineMeter meter;
  EXPECT_EQ(meter.TakeLongestStep(), 0);
  StepReport report;
  report.sequences = 1;
  for (const int ms : {20, 30, 10}) {
    report.duration = milliseconds(ms);
    meter.OnStep(report);
  }
  EXPECT_EQ(meter.TakeLongestStep(), 0.03);
  EXPECT_EQ(meter.TakeLongestStep(), 0);
  meter.OnStep(report);
  EXPECT_EQ(meter.TakeLongestStep(), 0.01);
}

TEST(EngineMeter, CountsSteps) {
  EngineMeter meter;
  StepReport report;
  report.running = 3;
  report.waiting = 4;
  report.used_blocks = 5;
  report.sequences = 2;
  report.prompt_tokens = 30;
  report.generated_tokens = 1;
  report.preemptions = 1;
  report.masks = 3;
  report.mask_time = milliseconds(5);
  report.parked_sequences = 2;
  report.computed_prompt_tokens = 100;
  report.cache_queries = 90;
  report.cache_hits = 60;
  report.cache_stateless = 20;
  report.sampled_tokens = 2;
  report.duration = milliseconds(20);
  report.token_gaps = {{.gap = milliseconds(20), .token_count = 2}};
  report.first_tokens = {
      {.received = At(0), .submitted = {}, .started = {}, .first_token = At(30), .finished = {}}};
  meter.OnStep(report);
  report.predicted = milliseconds(25);
  meter.OnStep(report);
  const EngineTotals& totals = meter.Latest();
  EXPECT_EQ(totals.state.running, 3);
  EXPECT_EQ(totals.state.waiting, 4);
  EXPECT_EQ(totals.state.used_blocks, 5);
  EXPECT_EQ(totals.steps, 2);
  EXPECT_EQ(totals.prompt_rows, 60);
  EXPECT_EQ(totals.generated_rows, 2);
  EXPECT_EQ(totals.preemptions, 2);
  EXPECT_EQ(totals.masks, 6);
  EXPECT_DOUBLE_EQ(totals.mask_seconds, 0.01);
  EXPECT_EQ(totals.parked_sequences, 4);
  EXPECT_EQ(totals.prompt_tokens, 200);
  EXPECT_EQ(totals.cache_queries, 180);
  EXPECT_EQ(totals.cache_hits, 120);
  EXPECT_EQ(totals.cache_stateless, 40);
  EXPECT_EQ(totals.completion_tokens, 4);
  EXPECT_DOUBLE_EQ(totals.step_seconds.sum(), 0.04);
  EXPECT_DOUBLE_EQ(totals.step_rows.sum(), 62);
  EXPECT_DOUBLE_EQ(totals.step_sequences.sum(), 4);
  EXPECT_DOUBLE_EQ(totals.mixed_step_seconds.sum(), 0.02);
  EXPECT_DOUBLE_EQ(totals.mixed_step_predicted_seconds.sum(), 0.025);
  EXPECT_EQ(CountOf(totals.token_gap_seconds), 4);
  EXPECT_DOUBLE_EQ(totals.first_token_seconds.sum(), 0.06);
}

TEST(EngineMeter, CountsChoices) {
  EngineMeter meter;
  StepReport report;  // between two steps
  report.finished_choices = {Choice(FinishReason::kStop, 20, 50, 150),
                             Choice(FinishReason::kLength, 20, 50, 150)};
  FinishedChoice aborted = Choice(FinishReason::kAborted, 0, 0, 40);
  aborted.times.started = aborted.times.first_token = {};
  aborted.completion_tokens = 0;
  report.finished_choices.push_back(aborted);
  meter.OnStep(report);
  const EngineTotals& totals = meter.Latest();
  EXPECT_EQ(totals.steps, 0);
  EXPECT_EQ(totals.finished_choices, (std::array<int64_t, 4>{1, 1, 1, 0}));
  EXPECT_DOUBLE_EQ(totals.request_seconds.sum(), 0.15 + 0.15 + 0.04);
  EXPECT_DOUBLE_EQ(totals.queue_seconds.sum(), 0.01 + 0.01 + 0.03);
  EXPECT_DOUBLE_EQ(totals.prefill_seconds.sum(), 0.06);
  EXPECT_DOUBLE_EQ(totals.decode_seconds.sum(), 0.2);
  EXPECT_DOUBLE_EQ(totals.inference_seconds.sum(), 0.26);
  EXPECT_DOUBLE_EQ(totals.mean_gap_seconds.sum(), 0.02);
  EXPECT_EQ(CountOf(totals.prefill_seconds), 2);
  EXPECT_EQ(CountOf(totals.prompt_lengths), 3);
  EXPECT_DOUBLE_EQ(totals.completion_lengths.sum(), 22);
  EXPECT_DOUBLE_EQ(totals.max_tokens.sum(), 60);
  EXPECT_DOUBLE_EQ(totals.choice_counts.sum(), 3);
}

TEST(EngineMeter, HoldsWorkAgainstWhatTheMachineCanDo) {
  EngineMeter meter;
  MachineLimits limits;
  limits.read_bytes_per_s = 1000;
  limits.int8.operations_per_s = 500;
  meter.SetLimits(limits);
  StepReport report;
  report.sequences = 1;
  report.duration = milliseconds(400);
  const auto step = [&](double bytes) {
    meter.AddWork(
        {.bytes = bytes, .int8_operations = 50, .bf16_operations = 7, .float_operations = 9});
    meter.OnStep(report);
    return meter.Latest().recent_work;
  };
  EXPECT_DOUBLE_EQ(step(200).memory, 0.2);  // the first window as it fills
  EXPECT_DOUBLE_EQ(step(200).busy, 0.8);
  EXPECT_DOUBLE_EQ(step(200).memory, 0.6);  // full
  EXPECT_DOUBLE_EQ(step(0).memory, 0.6);    // the next has just begun
  EXPECT_DOUBLE_EQ(step(0).memory, 0.6);
  EXPECT_DOUBLE_EQ(step(120).memory, 0.12);
  const EngineTotals& totals = meter.Latest();
  EXPECT_DOUBLE_EQ(totals.recent_work.busy, 1.2);
  EXPECT_DOUBLE_EQ(totals.recent_work.arithmetic, 0.3);
  EXPECT_DOUBLE_EQ(totals.work.bytes, 720);
  EXPECT_DOUBLE_EQ(totals.work.bf16_operations, 42);
  EXPECT_DOUBLE_EQ(totals.work_time.memory, 0.72);
  EXPECT_DOUBLE_EQ(totals.work_time.arithmetic, 0.6);
}

TEST(EngineMeter, AStepEndsWhereverAReaderIs) {
  EngineMeter meter;
  StepReport report;
  report.sequences = 1;
  const EngineTotals& held = meter.Latest();
  for (int i = 0; i < 5; ++i) meter.OnStep(report);  // on this thread: it cannot have waited
  EXPECT_EQ(held.steps, 0);
  EXPECT_EQ(meter.Latest().steps, 5);
}

TEST(ExpertLoad, TellsTokensByExpertAndImbalanceByLayer) {
  ExpertLoad load(10);
  // Two layers of four experts, and one without.
  load.Update(std::vector<int64_t>{6, 2, 0, 0, 2, 2, 2, 2, 0, 0, 0, 0}, 4, 4);
  EXPECT_THAT(load.tokens(), ElementsAre(8, 4, 2, 2));
  EXPECT_THAT(load.imbalance(), ElementsAre(3.0, 1.0, 0.0));
}

TEST(ExpertLoad, ForgetsWhatIsLongPast) {
  ExpertLoad load(10);
  std::vector<int64_t> counts = {10, 0};
  load.Update(counts, 2, 10);
  EXPECT_THAT(load.imbalance(), ElementsAre(2.0));
  for (int i = 0; i < 3; ++i) {
    counts[0] += 5;
    counts[1] += 5;
    load.Update(counts, 2, 10);
  }
  EXPECT_THAT(load.imbalance(), ElementsAre(1.0));
  EXPECT_THAT(load.tokens(), ElementsAre(25, 15));
}

TEST(ExpertLoad, ADenseModelHasNone) {
  ExpertLoad load;
  load.Update({}, 0, 4);
  EXPECT_TRUE(load.tokens().empty());
  EXPECT_TRUE(load.imbalance().empty());
}

}  // namespace
}  // namespace weft
