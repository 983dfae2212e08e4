// What the cost model learns from steps whose true cost is known. Durations are made up; no clock.
#include "engine/step_cost.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace weft {
namespace {

using Random = std::mt19937;

struct TrueCost {
  double fixed = 0.030;
  double decode_row = 0.0005;
  double chunk_row = 0.002;
  double decode_read = 2e-7;
  double chunk_read = 5e-8;

  double operator()(const StepShape& shape) const {
    return fixed + decode_row * shape.decode_rows + chunk_row * shape.chunk_rows +
           decode_read * static_cast<double>(shape.decode_reads) +
           chunk_read * static_cast<double>(shape.chunk_reads);
  }
};

StepShape Shape(int32_t decode_rows, int32_t context, int32_t chunk_rows, int32_t chunk_begin) {
  StepShape shape;
  for (int32_t i = 0; i < decode_rows; ++i) shape.AddDecode(context);
  shape.AddChunk(chunk_begin, chunk_rows);
  return shape;
}

std::chrono::nanoseconds Nanoseconds(double seconds) {
  return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
}

int32_t Between(Random& random, int32_t low, int32_t high) {
  return low + static_cast<int32_t>(random() % static_cast<uint32_t>(high - low + 1));
}

StepShape RandomShape(Random& random) {
  const int32_t chunk_rows = Between(random, 0, 2) == 0 ? 0 : Between(random, 1, 200);
  return Shape(Between(random, chunk_rows == 0 ? 1 : 0, 16), Between(random, 0, 3000), chunk_rows,
               Between(random, 0, 3000));
}

// The largest relative error of the predictions for shapes that have not been seen.
template <typename Cost>
double WorstError(const StepCostModel& model, const Cost& cost, Random& random) {
  double worst = 0;
  for (int i = 0; i < 200; ++i) {
    const StepShape shape = RandomShape(random);
    worst = std::max(worst, std::abs(model.PredictSeconds(shape) / cost(shape) - 1));
  }
  return worst;
}

// With its first step behind it, which does not count.
StepCostModel Started() {
  StepCostModel model;
  model.Observe(Shape(1, 10, 1000, 0), Nanoseconds(5));
  return model;
}

TEST(StepShape, CountsWhatRowsRead) {
  const StepShape shape = Shape(2, 9, 3, 5);
  EXPECT_EQ(shape.decode_rows, 2);
  EXPECT_EQ(shape.decode_reads, 20);
  EXPECT_EQ(shape.chunk_rows, 3);
  EXPECT_EQ(shape.chunk_reads, 6 + 7 + 8);
}

TEST(StepCostModel, KnowsNothingAtFirst) {
  StepCostModel model = Started();
  model.Fit();
  EXPECT_EQ(model.PredictSeconds(Shape(4, 10, 100, 0)), 0);
  EXPECT_EQ(model.trusted_chunk_rows(), 32);
}

TEST(StepCostModel, LearnsTheCostsOfAnExactMachine) {
  Random random(1);
  StepCostModel model = Started();
  const TrueCost cost;
  for (int i = 0; i < 200; ++i) {
    const StepShape shape = RandomShape(random);
    model.Observe(shape, Nanoseconds(cost(shape)));
  }
  model.Fit();
  EXPECT_LT(WorstError(model, cost, random), 0.02);
}

TEST(StepCostModel, SeesThroughNoiseAndOutliers) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    StepCostModel model = Started();
    const TrueCost cost;
    std::normal_distribution<double> noise(1, 0.05);
    for (int i = 0; i < 300; ++i) {
      const StepShape shape = RandomShape(random);
      // The last few steps say what the machine is like now; three of them disturbed would count.
      const bool disturb = i < 295 && Between(random, 1, 10) == 1;
      const double disturbed = disturb ? Between(random, 2, 8) : 1;
      model.Observe(shape, Nanoseconds(cost(shape) * noise(random) * disturbed));
    }
    model.Fit();
    EXPECT_LT(WorstError(model, cost, random), 0.2) << "seed " << seed;
  }
}

TEST(StepCostModel, ThousandsOfStepsAlikeDoNotDrownTheOthers) {
  Random random(2);
  StepCostModel model = Started();
  const TrueCost cost;
  for (int i = 0; i < 30; ++i) {
    const StepShape shape = Shape(4, 50, 20 * (1 + i % 8), 20 * i);
    model.Observe(shape, Nanoseconds(cost(shape)));
  }
  for (int i = 0; i < 10'000; ++i) {
    const StepShape shape = Shape(4, 50 + i % 1000, 0, 0);
    model.Observe(shape, Nanoseconds(cost(shape)));
  }
  model.Fit();
  const StepShape mixed = Shape(4, 300, 64, 200);
  EXPECT_NEAR(model.PredictSeconds(mixed) / cost(mixed), 1, 0.1);
  EXPECT_GE(model.trusted_chunk_rows(), 320);
}

TEST(StepCostModel, FollowsASlowerMachineWithinThreeSteps) {
  StepCostModel model = Started();
  const TrueCost cost;
  const auto observe = [&](int i, double slowness) {
    const StepShape shape = Shape(4, 500 + i, i % 3 == 0 ? 0 : 16 * (1 + i % 3), 16 * i);
    model.Observe(shape, Nanoseconds(cost(shape) * slowness));
  };
  for (int i = 0; i < 60; ++i) observe(i, 1);
  for (int i = 60; i < 63; ++i) observe(i, 2);
  model.Fit();
  const StepShape soon = Shape(4, 563, 32, 16 * 63);
  EXPECT_NEAR(model.PredictSeconds(soon) / cost(soon), 2, 0.1);
  for (int i = 63; i < 300; ++i) observe(i, 2);
  model.Fit();
  const StepShape later = Shape(4, 800, 32, 16 * 300);
  EXPECT_NEAR(model.PredictSeconds(later) / cost(later), 2, 0.05);
}

TEST(StepCostModel, OneDisturbedStepChangesNothing) {
  StepCostModel model = Started();
  const TrueCost cost;
  for (int i = 0; i < 40; ++i) {
    const StepShape shape = Shape(4, 500 + i, i % 2 == 0 ? 0 : 32, 32 * i);
    model.Observe(shape, Nanoseconds(cost(shape)));
  }
  const StepShape next = Shape(4, 540, 32, 1280);
  model.Observe(next, Nanoseconds(20 * cost(next)));
  model.Fit();
  EXPECT_NEAR(model.PredictSeconds(next) / cost(next), 1, 0.05);
}

// Memory decides up to some rows, arithmetic beyond: not linear, but where the steps are, it fits.
TEST(StepCostModel, FitsAKneeWhereTheStepsAre) {
  StepCostModel model = Started();
  const auto cost = [](const StepShape& shape) {
    return std::max(0.040, 0.002 * (shape.decode_rows + shape.chunk_rows));
  };
  const auto observe = [&](const StepShape& shape) {
    model.Observe(shape, Nanoseconds(cost(shape)));
  };
  for (int i = 0; i < 8; ++i) observe(Shape(0, 0, 512, 512 * i));
  for (int i = 0; i < 50; ++i) observe(Shape(4, 100 + i, 0, 0));
  for (int i = 0; i < 5; ++i) observe(Shape(4, 150 + i, 28 + 16 * i, 0));
  model.Fit();
  const StepShape next = Shape(4, 160, 44, 300);
  EXPECT_NEAR(model.PredictSeconds(next) / cost(next), 1, 0.15);
}

TEST(StepCostModel, TrustsTwiceTheChunksThatItHasSeen) {
  StepCostModel model = Started();
  model.Observe(Shape(1, 10, 5, 0), Nanoseconds(0.04));
  EXPECT_EQ(model.trusted_chunk_rows(), 32);
  model.Observe(Shape(1, 11, 60, 5), Nanoseconds(0.09));
  EXPECT_EQ(model.trusted_chunk_rows(), 120);
}

TEST(StepCostModel, KnowsWhatItHasSeenLately) {
  StepCostModel model = Started();
  EXPECT_FALSE(model.knows_decoding());
  EXPECT_FALSE(model.knows_chunks_beyond(0));
  model.Observe(Shape(2, 10, 16, 0), Nanoseconds(0.1));
  EXPECT_TRUE(model.knows_decoding());
  EXPECT_TRUE(model.knows_chunks_beyond(15));
  EXPECT_FALSE(model.knows_chunks_beyond(16));
  for (int i = 0; i < 40; ++i) model.Observe(Shape(2, 10, 100, 0), Nanoseconds(0.2));
  EXPECT_FALSE(model.knows_decoding());
  EXPECT_TRUE(model.knows_chunks_beyond(99));
  for (int i = 0; i < 40; ++i) model.Observe(Shape(2, 10, 0, 0), Nanoseconds(0.1));
  EXPECT_TRUE(model.knows_decoding());
  EXPECT_FALSE(model.knows_chunks_beyond(16));
}

TEST(StepCostModel, CostsAreNeverNegative) {
  Random random(3);
  StepCostModel model = Started();
  for (int i = 0; i < 100; ++i) {  // the more rows, the faster: nonsense
    const StepShape shape = Shape(1, 10, Between(random, 1, 100), 0);
    model.Observe(shape, Nanoseconds(1.0 / shape.chunk_rows));
  }
  model.Fit();
  double last = 0;
  for (int32_t rows = 0; rows < 200; rows += 10) {
    const double seconds = model.PredictSeconds(Shape(1, 10, rows, 0));
    EXPECT_GE(seconds, last);
    last = seconds;
  }
}

TEST(StepCostModel, IgnoresStepsWithoutDuration) {
  StepCostModel model = Started();
  model.Observe(Shape(1, 10, 60, 0), Nanoseconds(0));
  model.Fit();
  EXPECT_EQ(model.PredictSeconds(Shape(1, 10, 0, 0)), 0);
  EXPECT_EQ(model.trusted_chunk_rows(), 32);
}

}  // namespace
}  // namespace weft
