// Attention in spans with a running maximum is attention.
//
//   softmax(q K^T / sqrt(d)) V needs the largest score and the sum over all keys, before the first
//   probability is known. Milakov and Gimelshein, "Online normalizer calculation for softmax"
//   (2018, arXiv:1805.02867) keep both up to date while keys go by; Rabe and Staats (2021,
//   arXiv:2112.05682) and FlashAttention (Dao et al., 2022, arXiv:2205.14135) do so with the
//   output, in spans of keys. A span is known by its (maximum m, sum l, output o), and two become
//   one by
//
//     m = max(m1, m2),  l = l1 e^(m1 - m) + l2 e^(m2 - m),  o = o1 e^(m1 - m) + o2 e^(m2 - m),
//
//   of which the result is o / l. In real numbers this is associative and commutative, so that any
//   partition of the keys gives the same; the kernels fix one, spans of kAttentionSpan from
//   position 0 merged in ascending order, so that any way to share out the work gives the same
//   bits.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/kernels/attention_scene.h"

namespace weft {
namespace {

// The algebra, in double: what is known of some keys, one output element.
struct Partial {
  double maximum = -std::numeric_limits<double>::infinity();
  double sum = 0;
  double output = 0;
};

Partial Merged(const Partial& a, const Partial& b) {
  const double maximum = std::max(a.maximum, b.maximum);
  const double keep = std::exp(a.maximum - maximum);
  const double take = std::exp(b.maximum - maximum);
  return {maximum, a.sum * keep + b.sum * take, a.output * keep + b.output * take};
}

// Of each key alone, (score, 1, value), merged in order, in pairs, and from a random tree.
TEST(OnlineSoftmaxTest, AnyOrderOfMergingGivesThePlainDefinition) {
  Random random(41);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<Partial> keys;
    double sum = 0;
    double output = 0;
    for (int64_t i = random.Integer(1, 200); i > 0; --i) {
      const double score = 20 * double{random.Normal()};
      const double value = double{random.Normal()};
      keys.push_back({score, 1, value});
      sum += std::exp(score);
      output += std::exp(score) * value;
    }
    Partial running = keys.front();
    for (size_t i = 1; i < keys.size(); ++i) running = Merged(running, keys[i]);
    EXPECT_NEAR(running.output / running.sum, output / sum, 1e-12);
    while (keys.size() > 1) {
      const auto i = static_cast<size_t>(random.Integer(0, std::ssize(keys) - 1));
      std::swap(keys[i], keys.back());
      const Partial last = keys.back();
      keys.pop_back();
      const auto j = static_cast<size_t>(random.Integer(0, std::ssize(keys) - 1));
      keys[j] = Merged(last, keys[j]);
    }
    EXPECT_NEAR(keys[0].output / keys[0].sum, output / sum, 1e-12);
    EXPECT_EQ(keys[0].maximum, running.maximum);
  }
}

using FlashAttentionTest = AttentionTest;

// One span, exactly one, a bit more, several; beginnings within them.
std::vector<AttentionShape> Shapes() {
  return {{64, 2, 16, 0, 20},
          {64, 2, 32, 0, kAttentionSpan},
          {64, 2, 16, kAttentionSpan - 3, 6},
          {32, 3, 48, 3 * kAttentionSpan - 1, 2},
          {80, 1, 64, 1000, 30}};
}

TEST_P(FlashAttentionTest, IsThePlainDefinitionWithinFloat32) {
  for (const AttentionShape& shape : Shapes()) {
    const AttentionScene scene(shape, false, random_);
    const std::vector<double> plain = scene.Reference(/*rounded=*/false);
    const std::vector<float> flash = scene.Attend(KernelsFor(Arithmetic::kF32, Isa::kScalar),
                                                  shape.block_size, shape.row_count, random_);
    ASSERT_EQ(flash.size(), plain.size());
    for (size_t i = 0; i < flash.size(); ++i) ASSERT_NEAR(flash[i], plain[i], 2e-6) << i;
  }
}

// What a span gives does not depend on who computed it or when: spans computed in pieces, in any
// order, and merged are the whole, bit for bit.
TEST_P(FlashAttentionTest, SpansInAnyOrderGiveTheSameBits) {
  for (const AttentionShape& shape : Shapes()) {
    const AttentionScene scene(shape, false, random_);
    const std::vector<float> whole =
        scene.Attend(scalar_, shape.block_size, shape.row_count, random_);
    for (const KernelTable* kernels : Tables()) {
      EXPECT_EQ(scene.Attend(*kernels, shape.block_size, shape.row_count, random_), whole)
          << kernels->name;
      for (int trial = 0; trial < 4 && kernels->attend_spans != nullptr; ++trial) {
        EXPECT_EQ(
            scene.Attend(*kernels, shape.block_size, shape.row_count, random_, /*in_pieces=*/true),
            whole)
            << kernels->name << ' ' << Describe(shape);
      }
    }
  }
}

// Where all scores are equal every probability is 1 before the division, sums of integers are
// exact in whichever order, and attention is a mean: flash and plain agree to the bit.
TEST_P(FlashAttentionTest, OfEqualScoresItIsTheMeanExactly) {
  if (GetParam() == KvType::kQ8) GTEST_SKIP() << "values have 8 bits";
  const AttentionShape shape = {32, 2, 16, 1023, 1};  // 1024 keys in four spans
  AttentionScene scene(shape, false, random_);
  scene.SetKeys(0);
  int64_t sum = 0;
  for (int64_t position = 0; position < shape.end(); ++position) {
    const int64_t value = position % 97 - 40;
    scene.SetValue(position, static_cast<float>(value));
    sum += value;
  }
  const float mean = static_cast<float>(sum) / 1024.0F;
  for (const KernelTable* kernels : Tables()) {
    for (const float out : scene.Attend(*kernels, 16, 1, random_)) {
      ASSERT_EQ(out, mean) << kernels->name;
    }
  }
}

// The running maximum at its worst: scores that climb with every span, so that each merge throws
// nearly all away that was known, and scores that fall, so that each adds next to nothing. Up to
// 600 apart, where e^score has long left float32.
TEST_P(FlashAttentionTest, ScoresBeyondTheRangeOfExpAreHarmless) {
  for (const float slope : {0.6F, -0.6F}) {
    AttentionShape shape = {32, 2, 16, 1000, 1};
    shape.has_slopes = true;
    AttentionScene scene(shape, false, random_);
    scene.SetSlopes(slope);  // score -= slope * distance
    const std::vector<double> plain = scene.Reference(GetParam() == KvType::kBF16);
    const double tolerance = GetParam() == KvType::kBF16 ? 0.01 : 0.04;
    for (const KernelTable* kernels : Tables()) {
      const std::vector<float> flash = scene.Attend(*kernels, 16, 1, random_);
      for (size_t i = 0; i < flash.size(); ++i) {
        ASSERT_NEAR(flash[i], plain[i], tolerance) << kernels->name << ", slope " << slope;
      }
    }
    const std::vector<double> exact = scene.Reference(false);
    const std::vector<float> f32 =
        scene.Attend(KernelsFor(Arithmetic::kF32, Isa::kScalar), 16, 1, random_);
    for (size_t i = 0; i < f32.size(); ++i) ASSERT_NEAR(f32[i], exact[i], 1e-4) << slope;
  }
}

INSTANTIATE_TEST_SUITE_P(KvTypes, FlashAttentionTest, testing::Values(KvType::kBF16, KvType::kQ8),
                         [](const auto& parameter) {
                           return std::string(NameOf(parameter.param));
                         });

}  // namespace
}  // namespace weft
