// Attention over paged keys and values: every instruction set equals scalar bit for bit, scalar is
// right, a row depends on its own visible positions alone, and what no row may see is never read.
#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/model/kernels/attention_scene.h"

namespace weft {
namespace {

TEST_P(AttentionTest, EveryInstructionSetEqualsScalar) {
  for (int trial = 0; trial < 60; ++trial) {
    const AttentionShape shape = RandomShape(random_);
    const AttentionScene scene(shape, trial % 4 == 3, random_);
    std::vector<float> expected;
    for (const KernelTable* kernels : Tables()) {
      const std::vector<float> out =
          scene.Attend(*kernels, shape.block_size, shape.row_count, random_);
      if (expected.empty()) expected = out;
      const int64_t i = FirstDifference(out, expected);
      ASSERT_EQ(i, -1) << kernels->name << " trial " << trial << ": " << Describe(shape);
      if (kernels->attend_spans == nullptr) continue;
      const std::vector<float> pieced =
          scene.Attend(*kernels, shape.block_size, shape.row_count, random_, /*in_pieces=*/true);
      ASSERT_EQ(FirstDifference(pieced, expected), -1)
          << kernels->name << " in pieces, trial " << trial << ": " << Describe(shape);
    }
  }
}

// Keys longer than values (DeepSeek's latents are 576 and 512, and one in the other) and shorter
// ones, on tiles or not.
TEST_P(AttentionTest, KeysAndValuesOfDifferentSizes) {
  struct Sizes {
    int64_t key_dim;
    int64_t value_dim;
    bool value_in_key = false;
  };
  for (const auto& [key_dim, value_dim, value_in_key] :
       {Sizes{192, 128}, Sizes{576, 512}, Sizes{64, 160}, Sizes{96, 16}, Sizes{16, 48}, Sizes{2, 7},
        Sizes{576, 512, true}, Sizes{96, 64, true}, Sizes{50, 40, true}, Sizes{18, 17, true}}) {
    for (int trial = 0; trial < 6; ++trial) {
      AttentionShape shape = RandomShape(random_);
      shape.first_position = trial % 2 == 0 ? 0 : random_.Integer(200, 600);
      shape.row_count = trial % 3 == 0 ? 1 : random_.Integer(2, 20);
      shape.key_dim = key_dim;
      shape.other_value_dim = value_dim;
      shape.value_in_key = value_in_key;
      const AttentionScene scene(shape, trial == 5, random_);
      const std::vector<float> expected =
          scene.Attend(scalar_, shape.block_size, shape.row_count, random_);
      for (const KernelTable* kernels : Tables()) {
        for (const bool in_pieces : {false, true}) {
          if (in_pieces && kernels->attend_spans == nullptr) continue;
          const std::vector<float> out =
              scene.Attend(*kernels, shape.block_size, shape.row_count, random_, in_pieces);
          ASSERT_EQ(FirstDifference(out, expected), -1)
              << kernels->name << " trial " << trial << ": " << Describe(shape);
        }
      }
      if (trial == 5) continue;
      const std::vector<double> exact = scene.Reference(false);
      const std::vector<float> f32 = scene.Attend(KernelsFor(Arithmetic::kF32, Isa::kScalar),
                                                  shape.block_size, shape.row_count, random_);
      ASSERT_EQ(f32.size(), exact.size());
      ASSERT_EQ(expected.size(), exact.size());
      for (size_t i = 0; i < f32.size(); ++i) {
        ASSERT_NEAR(f32[i], exact[i], 1e-5) << Describe(shape);
        ASSERT_NEAR(expected[i], exact[i], 0.1) << Describe(shape);
      }
    }
  }
}

TEST_P(AttentionTest, AgreesWithDoublePrecision) {
  for (const AttentionShape& shape :
       {AttentionShape{64, 3, 16, 0, 20}, AttentionShape{128, 1, 32, 700, 1},
        AttentionShape{80, 2, 16, 250, 12}, AttentionShape{64, 2, 48, 500, 10, 270}}) {
    const AttentionScene scene(shape, false, random_);
    const bool is_bf16 = GetParam() == KvType::kBF16;
    const std::vector<double> expected = scene.Reference(is_bf16);
    const std::vector<float> out =
        scene.Attend(scalar_, shape.block_size, shape.row_count, random_);
    ASSERT_EQ(out.size(), expected.size());
    for (size_t i = 0; i < out.size(); ++i) {
      // Probabilities are rounded to 8 bits, or values, and keys, to 1/254 of the largest element.
      const double tolerance = is_bf16 ? 0.004 : 0.02;
      ASSERT_NEAR(out[i], expected[i], tolerance + std::fabs(expected[i]) * tolerance);
    }
    const std::vector<double> exact = scene.Reference(false);
    const std::vector<float> f32 = scene.Attend(KernelsFor(Arithmetic::kF32, Isa::kScalar),
                                                shape.block_size, shape.row_count, random_);
    for (size_t i = 0; i < f32.size(); ++i) ASSERT_NEAR(f32[i], exact[i], 1e-5);
  }
}

// As biases of keys make it (Qwen2): without rotation the others would be left a few codes.
TEST_P(AttentionTest, AChannelThatOutweighsTheOthersLeavesThemTheirAccuracy) {
  for (const int64_t key_dim : {64, 128, 80}) {
    AttentionScene scene({key_dim, 2, 32, 300, 20}, false, random_);
    scene.SetChannel(7, 60);
    const std::vector<double> expected = scene.Reference(GetParam() == KvType::kBF16);
    const std::vector<float> out = scene.Attend(scalar_, 32, 20, random_);
    ASSERT_EQ(out.size(), expected.size());
    EXPECT_LT(RootMeanSquareDifference(out, expected), 0.004) << key_dim;
  }
}

TEST_P(AttentionTest, ARowDependsOnItsVisiblePositionsAlone) {
  const int64_t block_sizes[] = {16, 32, 48, 256};
  for (int trial = 0; trial < 12; ++trial) {
    AttentionShape shape = RandomShape(random_);
    shape.row_count = random_.Integer(2, 30);
    const AttentionScene scene(shape, false, random_);
    for (const KernelTable* kernels : Tables()) {
      const std::vector<float> expected = scene.Attend(*kernels, 16, shape.row_count, random_);
      for (const int64_t chunk : {int64_t{1}, int64_t{7}, shape.row_count}) {
        const std::vector<float> out =
            scene.Attend(*kernels, block_sizes[random_.Integer(0, 3)], chunk, random_);
        ASSERT_EQ(FirstDifference(out, expected), -1) << kernels->name << " chunk " << chunk;
      }
    }
  }
}

// What cancels below the smallest float is +0, whichever its sign was before it was flushed.
TEST_P(AttentionTest, NoNegativeZeroIsLeft) {
  if (GetParam() == KvType::kQ8) GTEST_SKIP() << "an 8-bit cache adds integers";
  const AttentionShape shape = {32, 1, 32, 0, 64};
  AttentionScene scene(shape, false, random_);
  // Equal scores, so that every probability is 1; the last row sees both.
  scene.SetKeys(0);
  scene.SetValues(0);
  constexpr float kSmallest = std::numeric_limits<float>::min();
  scene.SetValue(0, 1.5F * kSmallest);
  scene.SetValue(63, -1.75F * kSmallest);
  for (const KernelTable* kernels : Tables()) {
    const std::vector<float> out =
        scene.Attend(*kernels, shape.block_size, shape.row_count, random_);
    EXPECT_EQ(std::bit_cast<uint32_t>(out.back()), 0U) << kernels->name;
  }
}

// A key or a value with NaN in it makes NaN of every row that sees it and of no other.
TEST_P(AttentionTest, NaNStaysWithThoseWhoSeeIt) {
  for (const bool in_value : {false, true}) {
    const AttentionShape shape = {64, 2, 16, 300, 24};
    AttentionScene scene(shape, false, random_);
    constexpr int64_t kPosition = 310;
    scene.Spoil(kPosition, in_value);
    for (const KernelTable* kernels : Tables()) {
      const std::vector<float> out =
          scene.Attend(*kernels, shape.block_size, shape.row_count, random_);
      const int64_t row_size = shape.heads * shape.key_dim;
      for (int64_t i = 0; i < shape.row_count * row_size; ++i) {
        const bool sees = shape.first_position + i / row_size >= kPosition;
        // In bf16 a value spoils its own element of the output only.
        const bool in_reach =
            !in_value || GetParam() == KvType::kQ8 || i % shape.key_dim == AttentionScene::kSpoilt;
        ASSERT_EQ(std::isfinite(out[static_cast<size_t>(i)]), !(sees && in_reach))
            << kernels->name << ", element " << i << (in_value ? ", value" : ", key");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(KvTypes, AttentionTest, testing::Values(KvType::kBF16, KvType::kQ8),
                         [](const auto& parameter) {
                           return std::string(NameOf(parameter.param));
                         });

}  // namespace
}  // namespace weft
