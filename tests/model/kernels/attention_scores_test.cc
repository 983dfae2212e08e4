// What attention does with scores besides scaling them: soft caps, slopes, biases by distance,
// sinks, chunks. Every instruction set equals scalar bit for bit, scalar equals the textbook, and
// what is off costs no bit.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "model/kernels/scalar_math.h"
#include "tests/model/kernels/attention_scene.h"

namespace weft {
namespace {

using AttentionScoresTest = AttentionTest;

constexpr int64_t kAll = 1 << 30;

AttentionShape RandomAdjustments(AttentionShape shape, Random& random) {
  if (random.Integer(0, 1) == 0) shape.soft_cap = 0.1F + std::fabs(random.Normal());
  shape.has_slopes = random.Integer(0, 1) == 0;
  if (random.Integer(0, 1) == 0) shape.bias_reach = random.Integer(1, 200);
  shape.has_sinks = random.Integer(0, 1) == 0;
  const int64_t kind = random.Integer(0, 2);
  if (kind == 0) shape.chunk = random.Integer(1, 700);
  if (kind == 1) {  // an encoder's
    shape.lookahead = random.Integer(0, 1) == 0 ? random.Integer(1, 300) : kAll;
    shape.behind = random.Integer(0, 600);
  }
  return shape;
}

TEST_P(AttentionScoresTest, EveryInstructionSetEqualsScalar) {
  for (int trial = 0; trial < 60; ++trial) {
    const AttentionShape shape = RandomAdjustments(RandomShape(random_), random_);
    const AttentionScene scene(shape, trial % 4 == 3, random_);
    const std::vector<float> expected =
        scene.Attend(scalar_, shape.block_size, shape.row_count, random_);
    for (const KernelTable* kernels : Tables()) {
      const std::vector<float> out =
          scene.Attend(*kernels, shape.block_size, shape.row_count, random_);
      ASSERT_EQ(FirstDifference(out, expected), -1)
          << kernels->name << " trial " << trial << ": " << Describe(shape);
      const std::vector<float> row_by_row = scene.Attend(*kernels, 16, 1, random_);
      ASSERT_EQ(FirstDifference(row_by_row, expected), -1)
          << kernels->name << " row by row, trial " << trial << ": " << Describe(shape);
      if (kernels->attend_spans == nullptr) continue;
      const std::vector<float> pieced =
          scene.Attend(*kernels, shape.block_size, shape.row_count, random_, /*in_pieces=*/true);
      ASSERT_EQ(FirstDifference(pieced, expected), -1)
          << kernels->name << " in pieces, trial " << trial << ": " << Describe(shape);
    }
  }
}

TEST_P(AttentionScoresTest, AgreesWithDoublePrecision) {
  const AttentionShape one_span = {64, 3, 16, 0, 20};
  const AttentionShape some_spans = {80, 2, 32, 700, 12};
  for (const AttentionShape& plain : {one_span, some_spans}) {
    std::vector<AttentionShape> shapes(9, plain);
    shapes[0].soft_cap = 0.75F;  // where it bends most scores
    shapes[1].has_slopes = true;
    shapes[2].has_sinks = true;
    shapes[3].chunk = 8;
    shapes[4] = {plain.key_dim, plain.heads, 16,  plain.first_position, 12, 300, 600, 2,
                 true,          9,           true};
    shapes[5].lookahead = kAll;
    shapes[5].behind = 300;
    shapes[6] = {.key_dim = plain.key_dim,
                 .heads = plain.heads,
                 .block_size = 16,
                 .first_position = plain.first_position,
                 .row_count = 12,
                 .sliding_window = 31,
                 .has_slopes = true,
                 .lookahead = 30,
                 .behind = 20};
    shapes[7].bias_reach = 128;
    shapes[8] = shapes[5];  // an encoder's: keys on both sides, within reach and beyond
    shapes[8].bias_reach = 20;
    for (const AttentionShape& shape : shapes) {
      const AttentionScene scene(shape, false, random_);
      const bool is_bf16 = GetParam() == KvType::kBF16;
      const std::vector<double> expected = scene.Reference(is_bf16);
      const std::vector<float> out =
          scene.Attend(scalar_, shape.block_size, shape.row_count, random_);
      ASSERT_EQ(out.size(), expected.size());
      ASSERT_LT(RootMeanSquareDifference(out, expected), is_bf16 ? 0.001 : 0.005)
          << Describe(shape);
      for (size_t i = 0; i < out.size(); ++i) {
        const double tolerance = is_bf16 ? 0.004 : 0.03;
        ASSERT_NEAR(out[i], expected[i], tolerance + std::fabs(expected[i]) * tolerance)
            << Describe(shape);
      }
      const std::vector<double> exact = scene.Reference(false);
      const std::vector<float> f32 = scene.Attend(KernelsFor(Arithmetic::kF32, Isa::kScalar),
                                                  shape.block_size, shape.row_count, random_);
      for (size_t i = 0; i < f32.size(); ++i)
        ASSERT_NEAR(f32[i], exact[i], 1e-5) << Describe(shape);
    }
  }
}

// A sink of minus infinity takes no share, and a slope of zero adds nothing.
TEST_P(AttentionScoresTest, WhatAddsNothingChangesNoValue) {
  const AttentionShape plain = {64, 2, 32, 500, 12};
  AttentionShape adjusted = plain;
  adjusted.has_slopes = true;
  adjusted.has_sinks = true;
  adjusted.chunk = 1000;
  AttentionScene scene(adjusted, false, random_);
  scene.SetSlopes(0);
  scene.SetSinks(-std::numeric_limits<float>::infinity());
  AttentionScene without = scene;
  without.Become(plain);
  for (const KernelTable* kernels : Tables()) {
    EXPECT_EQ(scene.Attend(*kernels, 32, plain.row_count, random_),
              without.Attend(*kernels, 32, plain.row_count, random_))
        << kernels->name;
  }
}

// A sink that outweighs all scores leaves nothing of the values.
TEST_P(AttentionScoresTest, ALargeSinkTakesAll) {
  AttentionShape shape = {64, 2, 32, 500, 12};
  shape.has_sinks = true;
  AttentionScene scene(shape, false, random_);
  scene.SetSinks(1000);
  for (const KernelTable* kernels : Tables()) {
    for (const float value : scene.Attend(*kernels, 32, shape.row_count, random_)) {
      ASSERT_EQ(value, 0.0F) << kernels->name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(KvTypes, AttentionScoresTest, testing::Values(KvType::kBF16, KvType::kQ8),
                         [](const auto& parameter) {
                           return std::string(NameOf(parameter.param));
                         });

TEST(EndVisibleTest, NotBehindTheSequence) {
  EXPECT_EQ(EndVisible(4, 0, 0), 5);  // a decoder's rows need no length
  EXPECT_EQ(EndVisible(4, 3, 9), 8);
  EXPECT_EQ(EndVisible(4, 4, 9), 9);
  EXPECT_EQ(EndVisible(4, 5, 9), 9);
  EXPECT_EQ(EndVisible(4, std::numeric_limits<int64_t>::max(), 9), 9);
}

TEST(FirstVisibleTest, TheLaterOfWindowAndChunk) {
  EXPECT_EQ(FirstVisible(0, 0, 0), 0);
  EXPECT_EQ(FirstVisible(100, 0, 0), 0);
  EXPECT_EQ(FirstVisible(100, 1, 0), 100);
  EXPECT_EQ(FirstVisible(100, 101, 0), 0);
  EXPECT_EQ(FirstVisible(100, 200, 0), 0);
  EXPECT_EQ(FirstVisible(99, 0, 50), 50);
  EXPECT_EQ(FirstVisible(100, 0, 50), 100);
  EXPECT_EQ(FirstVisible(149, 10, 50), 140);
  EXPECT_EQ(FirstVisible(149, 60, 50), 100);
}

TEST(TanhTest, IsAccurateAndBounded) {
  const ScopedFlushDenormals flush;
  for (float x = 1e-30F; x < 30; x *= 1.0003F) {
    const double expected = std::tanh(static_cast<double>(x));
    ASSERT_NEAR(scalar::Tanh(x), expected, expected * 2.4e-7) << x;
    ASSERT_EQ(scalar::Tanh(-x), -scalar::Tanh(x));
    ASSERT_LE(scalar::Tanh(x), 1.0F);
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(ComparableBits(scalar::Tanh(0.0F)), ComparableBits(0.0F));
  EXPECT_EQ(ComparableBits(scalar::Tanh(-0.0F)), ComparableBits(-0.0F));
  EXPECT_EQ(scalar::Tanh(kInfinity), 1.0F);
  EXPECT_EQ(scalar::Tanh(-kInfinity), -1.0F);
  EXPECT_TRUE(std::isnan(scalar::Tanh(NAN)));
}

}  // namespace
}  // namespace weft
