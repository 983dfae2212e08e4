// What `weft bench` holds its figures against, and how it writes them down.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/kernels/peak_loops.h"
#include "server/commands/bench/report.h"
#include "server/commands/bench/steps.h"
#include "server/metrics/step_floor.h"
#include "tests/data_paths.h"

namespace weft {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

// 8 experts of which 2 run; every count is another power of ten.
ModelCost SmallCost() {
  return {.embedding_row_bytes = 1,
          .dense = {.bytes = 1000, .int8_weights = 1e6, .bf16_weights = 1e9, .float_weights = 1e12},
          .experts = {.bytes = 80'000, .int8_weights = 8e15},
          .head = {.bytes = 1e7, .int8_weights = 1e18},
          .expert_count = 8,
          .experts_per_token = 2,
          .attention = {{.kv_bytes_per_position = 1e10, .operations_per_read = 1e3}}};
}

TEST(StepFloorTest, OneTokenReadsItsExpertsAndItsPast) {
  const SequenceShape shape = {.first_position = 4, .row_count = 1};
  const StepWork work = CountWork(SmallCost(), {&shape, 1}, 0);
  EXPECT_DOUBLE_EQ(work.bytes, 1 + 1000 + 80'000 / 4.0 + 5e10);
  EXPECT_DOUBLE_EQ(work.int8_operations, 2 * (1e6 + 2e15));
  EXPECT_DOUBLE_EQ(work.bf16_operations, 2e9);
  EXPECT_DOUBLE_EQ(work.float_operations, 2e12 + 5e3);
}

TEST(StepFloorTest, WeightsAreReadOnceAndMultipliedWithEveryRow) {
  const SequenceShape shapes[] = {{.first_position = 0, .row_count = 2},
                                  {.first_position = 7, .row_count = 1}};
  const StepWork work = CountWork(SmallCost(), shapes, 2);
  const double touched = 1 - std::pow(0.75, 3);
  EXPECT_DOUBLE_EQ(work.bytes, 3 + 1000 + 80'000 * touched + 1e7 + 1e10 * (2 + 8));
  EXPECT_DOUBLE_EQ(work.int8_operations, 2 * (3e6 + 3 * 2e15 + 2e18));
  EXPECT_DOUBLE_EQ(work.float_operations, 3 * 2e12 + 1e3 * (1 + 2 + 8));
}

TEST(StepFloorTest, AttentionOnTilesCountsAsProductsOfBf16) {
  ModelCost cost;
  cost.attention = {{.operations_per_read = 1e3}};
  cost.attention_on_tiles = true;
  const SequenceShape shape = {.first_position = 0, .row_count = 3};
  const StepWork work = CountWork(cost, {&shape, 1}, 0);
  EXPECT_DOUBLE_EQ(work.bf16_operations, 1e3 * (1 + 2 + 3));
  EXPECT_DOUBLE_EQ(work.float_operations, 0);
}

TEST(StepFloorTest, AWindowHidesWhatIsBehindIt) {
  ModelCost cost;
  cost.attention = {{.window = 4, .kv_bytes_per_position = 1, .operations_per_read = 1}};
  const SequenceShape shape = {.first_position = 10, .row_count = 3};
  const StepWork work = CountWork(cost, {&shape, 1}, 0);
  EXPECT_DOUBLE_EQ(work.bytes, 6);  // positions 7 to 12
  EXPECT_DOUBLE_EQ(work.float_operations, 12);
  // Beside layers that see all.
  cost.attention.push_back({.kv_bytes_per_position = 100, .operations_per_read = 100});
  EXPECT_DOUBLE_EQ(CountWork(cost, {&shape, 1}, 0).bytes, 6 + 1300);
}

TEST(StepFloorTest, AStateIsReadOnceAndPassedByEveryRow) {
  ModelCost cost;
  cost.states = {.bytes = 100, .operations_per_row = 7};
  const SequenceShape shapes[] = {{.first_position = 10, .row_count = 3},
                                  {.first_position = 0, .row_count = 1}};
  EXPECT_DOUBLE_EQ(CountWork(cost, shapes, 0).bytes, 200);
  EXPECT_DOUBLE_EQ(CountWork(cost, shapes, 0).float_operations, 28);
}

TEST(StepFloorTest, AnEncodersRowsSeeWhatIsBehindThem) {
  ModelCost cost;
  cost.attention = {{.lookahead = 512, .kv_bytes_per_position = 1, .operations_per_read = 1}};
  const SequenceShape shape = {.first_position = 0, .row_count = 6};
  EXPECT_DOUBLE_EQ(CountWork(cost, {&shape, 1}, 0).float_operations, 36);
  cost.attention[0].window = 3;  // two before and
  cost.attention[0].lookahead = 2;
  EXPECT_DOUBLE_EQ(CountWork(cost, {&shape, 1}, 0).float_operations, 3 + 4 + 5 + 5 + 4 + 3);
  EXPECT_DOUBLE_EQ(CountWork(cost, {&shape, 1}, 0).bytes, 6);
}

TEST(StepFloorTest, AModelWithoutAttentionHasStates) {
  const auto checkpoint =
      LoadCheckpoint(SourcePath("tests/model/fixtures/parity/mamba2/model.gguf"));
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  const KernelTable& kernels = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
  const ModelCost of_model = CostOf(*checkpoint, kernels, /*block_size=*/32);
  EXPECT_TRUE(of_model.attention.empty());
  // 3 layers of 3 rows of 64 channels and 4 heads of 8 x 8.
  EXPECT_DOUBLE_EQ(of_model.states.bytes, 3 * (3 * 64 + 4 * 8 * 8) * 4);
  EXPECT_DOUBLE_EQ(of_model.states.operations_per_row, 3 * 4 * 8 * 8 * 5);
}

TEST(StepFloorTest, SourcesAreReadByTheirTextsAndComputedOnce) {
  ModelCost cost;
  cost.sources = {.bytes = 1000, .int8_weights = 1e6};
  cost.source_attention = {.kv_bytes_per_position = 10, .operations_per_read = 1};
  cost.cross_attention = {.kv_bytes_per_position = 1, .operations_per_read = 100};
  const SequenceShape shape = {.first_position = 4, .row_count = 2, .source_count = 6};
  const StepWork later = CountWork(cost, {&shape, 1}, 0);
  EXPECT_DOUBLE_EQ(later.bytes, 6);
  EXPECT_DOUBLE_EQ(later.int8_operations, 0);
  EXPECT_DOUBLE_EQ(later.float_operations, 2 * 6 * 100);
  const int64_t lengths[] = {6, 3};
  const StepWork first = CountWork(cost, {&shape, 1}, 0, lengths);
  EXPECT_DOUBLE_EQ(first.bytes, 6 + 1000 + 10 * (6 + 3));
  EXPECT_DOUBLE_EQ(first.int8_operations, 2 * 1e6 * 9);
  EXPECT_DOUBLE_EQ(first.float_operations, 2 * 6 * 100 + 6 * 6 + 3 * 3);
}

TEST(StepFloorTest, TheLargerOfMemoryAndComputeLimits) {
  const MachineLimits limits = {
      .read_bytes_per_s = 10, .float32 = {"f", 100}, .bf16 = {"b", 200}, .int8 = {"i", 400}};
  const StepFloor memory = FloorOf({.bytes = 50, .int8_operations = 400}, limits);
  EXPECT_DOUBLE_EQ(memory.seconds, 5);
  EXPECT_EQ(memory.bound, Bound::kMemory);
  const StepFloor compute = FloorOf(
      {.bytes = 50, .int8_operations = 800, .bf16_operations = 600, .float_operations = 200},
      limits);
  EXPECT_DOUBLE_EQ(compute.seconds, 2 + 3 + 2);
  EXPECT_EQ(compute.bound, Bound::kCompute);
  EXPECT_DOUBLE_EQ(FloorOf({.bytes = 50, .int8_operations = 1e9}, {.read_bytes_per_s = 10}).seconds,
                   5);
}

TEST(BenchReportTest, MedianAndSpread) {
  EXPECT_DOUBLE_EQ(Median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(Median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(SpreadOf({2, 1, 3}), 1);
}

TEST(BenchReportTest, EncodersAreMeasuredInTexts) {
  BenchRow row;
  row.test = "encode";
  row.size = 128;
  row.tokens_per_s = 25600;
  row.step_seconds = 0.02;
  row.encode = EncodeFigures{.texts = 64, .texts_per_s = 200};
  const Json json = Json::parse(FormatJson(row, nullptr));
  EXPECT_EQ(json["test"], "encode");
  EXPECT_EQ(json["tokens"], 128);
  EXPECT_EQ(json["texts"], 64);
  EXPECT_DOUBLE_EQ(json["texts_per_s"], 200);
  EXPECT_DOUBLE_EQ(json["tokens_per_s"], 25600);
  EXPECT_THAT(FormatTableRow(row), HasSubstr("64 texts at once: 200.0 texts/s\n"));
}

BenchRow DecodeRow() {
  BenchRow row;
  row.test = "decode";
  row.size = 16;
  row.context = 512;
  row.tokens_per_s = 320;
  row.step_seconds = 0.05;
  row.floor = StepFloor{0.04, Bound::kMemory};
  row.profile = StepProfile();
  row.profile->of(Operator::kGateUp) = std::chrono::milliseconds(30);
  row.profile->of(Operator::kHead) = std::chrono::milliseconds(10);
  row.profiled_steps = 2;
  return row;
}

TEST(BenchReportTest, AJsonLineHasTheFigureAndItsShareOfTheLimit) {
  const MachineLimits limits = {.read_bytes_per_s = 30e9, .int8 = {"AVX-512 VNNI", 1.5e12}};
  const Json json = Json::parse(FormatJson(DecodeRow(), &limits));
  EXPECT_EQ(json["test"], "decode");
  EXPECT_EQ(json["batch"], 16);
  EXPECT_EQ(json["context"], 512);
  EXPECT_DOUBLE_EQ(json["tokens_per_s"], 320);
  EXPECT_DOUBLE_EQ(json["limit_share"], 0.8);
  EXPECT_EQ(json["limit"], "memory");
  EXPECT_DOUBLE_EQ(json["machine"]["dram_read_gb_per_s"], 30);
  EXPECT_EQ(json["machine"]["int8"]["instructions"], "AVX-512 VNNI");
  EXPECT_FALSE(json["machine"].contains("bf16")) << "not measured";
  EXPECT_EQ(json["profile"].size(), 2U) << "operators that took no time are not of the model";
  EXPECT_DOUBLE_EQ(json["profile"]["gate, up, activation"]["ms_per_step"], 15)
      << json["profile"].dump();
  EXPECT_DOUBLE_EQ(json["profile"]["head"]["share"], 0.25);
}

TEST(BenchReportTest, ATableRowHasThemToo) {
  const std::string text = FormatTableRow(DecodeRow());
  EXPECT_THAT(text, HasSubstr("320.0"));
  EXPECT_THAT(text, HasSubstr("80%  memory"));
  EXPECT_THAT(text, HasSubstr("gate, up, activation"));
}

TEST(PeakLoopsTest, RunOnEveryInstructionSetOfThisProcessor) {
  const CpuFeatures cpu = DetectCpu();
  const auto run = [&](Isa isa) {
    const PeakLoops loops = PeakLoopsFor(isa, cpu);
    for (const PeakLoop* loop : {&loops.float32, &loops.bf16, &loops.int8}) {
      ASSERT_NE(loop->run, nullptr);
      EXPECT_TRUE(std::isfinite(loop->run(3))) << loop->name;
      EXPECT_GT(loop->operations_per_round, 0) << loop->name;
    }
  };
  if (cpu.avx2_fma) run(Isa::kAvx2);
  if (cpu.avx512) run(Isa::kAvx512);
  EXPECT_EQ(PeakLoopsFor(Isa::kScalar, cpu).float32.run, nullptr);
}

}  // namespace
}  // namespace weft
