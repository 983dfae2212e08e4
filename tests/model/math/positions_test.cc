// How attention, which sees a set, is told an order: sinusoids, rotations, slopes.
//
//   Sinusoids: Vaswani et al., "Attention Is All You Need" (2017, arXiv:1706.03762), section 3.5.
//   RoPE: Su et al., "RoFormer" (2021, arXiv:2104.09864), section 3.
//   ALiBi: Press, Smith and Lewis, "Train Short, Test Long" (2021, arXiv:2108.12409), section 3.
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/float_env.h"
#include "model/families/decoder.h"
#include "model/rope.h"
#include "tests/model/kernels/attention_scene.h"
#include "tests/model/kernels/tables_here.h"
#include "tests/model/model_fixture.h"

namespace weft {
namespace {

// --- Sinusoids ---

// The table that Weft makes for a family, which no checkpoint holds: row p is
// (sin(p f_0), sin(p f_1), ..., cos(p f_0), cos(p f_1), ...). The paper has sines and cosines by
// turns, which is another order of the same columns. f_i = 10000^(-i / divisor).
class SinusoidTable {
 public:
  SinusoidTable(const std::string& fixture, bool half_less_one) {
    const Checkpoint checkpoint = LoadOrThrow(ParityPath(fixture, "hf"));
    const EmbeddingSpec& embedding = checkpoint.spec.embedding;
    rows_ = embedding.position_count;
    half_ = checkpoint.spec.hidden_size / 2;
    divisor_ = static_cast<double>(half_less_one ? half_ - 1 : half_);
    values_ = checkpoint.tensors.tables[static_cast<size_t>(embedding.positions)].values();
  }

  int64_t rows() const { return rows_; }
  int64_t half() const { return half_; }
  size_t size() const { return values_.size(); }
  double sine(int64_t row, int64_t i) const { return at(row, i); }
  double cosine(int64_t row, int64_t i) const { return at(row, half_ + i); }
  double frequency(int64_t i) const {
    return std::pow(10000.0, -static_cast<double>(i) / divisor_);
  }

 private:
  double at(int64_t row, int64_t column) const {
    return double{values_[static_cast<size_t>(row * 2 * half_ + column)]};
  }
  int64_t rows_ = 0;
  int64_t half_ = 0;
  double divisor_ = 1;
  std::vector<float> values_;
};

// Wavelengths from 2 pi to 10000 * 2 pi: of Marian and Pegasus they end just before, as the paper's
// do; of M2M100, NLLB and XGLM exactly there.
struct SinusoidKind {
  const char* fixture;
  bool half_less_one;
};

class SinusoidTest : public testing::TestWithParam<SinusoidKind> {
 protected:
  const SinusoidTable table_{GetParam().fixture, GetParam().half_less_one};
};

TEST_P(SinusoidTest, IsTheFormula) {
  ASSERT_EQ(table_.size(), static_cast<size_t>(table_.rows() * 2 * table_.half()));
  for (int64_t p = 0; p < table_.rows(); ++p) {
    for (int64_t i = 0; i < table_.half(); ++i) {
      const double angle = static_cast<double>(p) * table_.frequency(i);
      ASSERT_NEAR(table_.sine(p, i), std::sin(angle), 1e-7) << p << ' ' << i;
      ASSERT_NEAR(table_.cosine(p, i), std::cos(angle), 1e-7) << p << ' ' << i;
    }
  }
}

// The paper's reason for them: "for any fixed offset k, PE(p + k) can be represented as a linear
// function of PE(p)", namely each pair turned by k f_i, wherever p is.
TEST_P(SinusoidTest, AnOffsetIsARotation) {
  for (const int64_t k : {1, 2, 7, 19}) {
    for (int64_t p = 0; p + k < table_.rows(); ++p) {
      for (int64_t i = 0; i < table_.half(); ++i) {
        const double angle = static_cast<double>(k) * table_.frequency(i);
        const double s = table_.sine(p, i);
        const double c = table_.cosine(p, i);
        ASSERT_NEAR(table_.sine(p + k, i), s * std::cos(angle) + c * std::sin(angle), 3e-7);
        ASSERT_NEAR(table_.cosine(p + k, i), c * std::cos(angle) - s * std::sin(angle), 3e-7);
      }
    }
  }
}

// Hence PE(p) . PE(q) = sum of cos((p - q) f_i): a function of the distance, largest at 0, where it
// is the number of pairs.
TEST_P(SinusoidTest, DotProductsKnowTheDistanceAlone) {
  for (int64_t p = 0; p < table_.rows(); ++p) {
    for (int64_t q = 0; q < table_.rows(); ++q) {
      double dot = 0;
      double expected = 0;
      for (int64_t i = 0; i < table_.half(); ++i) {
        dot += table_.sine(p, i) * table_.sine(q, i) + table_.cosine(p, i) * table_.cosine(q, i);
        expected += std::cos(static_cast<double>(p - q) * table_.frequency(i));
      }
      ASSERT_NEAR(dot, expected, 2e-6) << p << ' ' << q;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, SinusoidTest,
                         testing::Values(SinusoidKind{"marian", false},
                                         SinusoidKind{"pegasus", false},
                                         SinusoidKind{"m2m100", true}, SinusoidKind{"xglm", true}),
                         [](const auto& parameter) {
                           return std::string(parameter.param.fixture);
                         });

// --- RoPE ---

// Queries and keys are turned by their positions, pair i by p * f_i. <R_m q, R_n k> =
// <q, R_(n - m) k>: rotations are orthogonal, and R_m^T R_n = R_(n - m). It holds whatever the
// frequencies are, so that it must survive every scaling of them.
class RopeTest : public testing::TestWithParam<RopeSpec> {
 protected:
  std::vector<float> Turned(const KernelTable& kernels, std::vector<float> head,
                            int64_t position) const {
    std::vector<float> cos(frequencies_.size());
    std::vector<float> sin(frequencies_.size());
    RopeAngles(frequencies_, GetParam().attention_factor, position, cos.data(), sin.data());
    kernels.rope(head.data(), cos.data(), sin.data(), GetParam().rotary_dim, GetParam().pairing);
    return head;
  }

  static double Dot(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
    return sum;
  }

  static constexpr int64_t kHeadDim = 64;
  const std::vector<double> frequencies_ = RopeFrequencies(GetParam());
  const std::vector<KernelTable> tables_ = TablesHere(Arithmetic::kBF16);
  Random random_{51};
  const std::vector<float> query_ = random_.Normals(kHeadDim);
  const std::vector<float> key_ = random_.Normals(kHeadDim);
  ScopedFlushDenormals flush_;
};

TEST_P(RopeTest, ScoresKnowTheDistanceAlone) {
  for (const KernelTable& kernels : tables_) {
    for (const int64_t distance : {0, 1, 3, 100, 5000}) {
      const double at_start = Dot(Turned(kernels, query_, distance), Turned(kernels, key_, 0));
      for (const int64_t shift : {1, 17, 1000, 100000}) {
        const double shifted =
            Dot(Turned(kernels, query_, distance + shift), Turned(kernels, key_, shift));
        EXPECT_NEAR(shifted, at_start, 2e-5) << kernels.name << ' ' << distance << " + " << shift;
      }
    }
  }
}

// Otherwise the test above would hold for what does nothing.
TEST_P(RopeTest, ScoresDependOnTheDistance) {
  for (const KernelTable& kernels : tables_) {
    const double near = Dot(Turned(kernels, query_, 1), Turned(kernels, key_, 0));
    const double far = Dot(Turned(kernels, query_, 9), Turned(kernels, key_, 0));
    EXPECT_GT(std::fabs(near - far), 0.01) << kernels.name;
    EXPECT_NE(near, Dot(Turned(kernels, query_, 0), Turned(kernels, key_, 1))) << "the other way";
  }
}

// R_0 is the identity, to the bit; R_a R_b = R_(a + b); lengths stay. (YaRN's magnitude, which is
// no rotation, would multiply each of them.)
TEST_P(RopeTest, IsAGroupOfRotations) {
  if (GetParam().attention_factor != 1) return;
  const double length = Dot(query_, query_);
  for (const KernelTable& kernels : tables_) {
    EXPECT_EQ(Turned(kernels, query_, 0), query_) << kernels.name;
    for (const int64_t position : {1, 250, 32000}) {
      const std::vector<float> turned = Turned(kernels, query_, position);
      EXPECT_NEAR(Dot(turned, turned), length, 2e-5) << kernels.name << ' ' << position;
      const std::vector<float> twice = Turned(kernels, turned, 77);
      const std::vector<float> once = Turned(kernels, query_, position + 77);
      for (size_t i = 0; i < once.size(); ++i) {
        ASSERT_NEAR(twice[i], once[i], 2e-6) << kernels.name << ' ' << position;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Scalings, RopeTest,
    testing::Values(RopeSpec{.rotary_dim = 64},
                    RopeSpec{.pairing = RopePairing::kNeighbours, .rotary_dim = 64},
                    RopeSpec{.rotary_dim = 24},  // of the head's 64
                    RopeSpec{.rotary_dim = 64, .scaling = RopeScalingKind::kLinear, .factor = 4},
                    RopeSpec{.pairing = RopePairing::kNeighbours,
                             .rotary_dim = 64,
                             .base = 500000,
                             .scaling = RopeScalingKind::kLlama3,
                             .factor = 8,
                             .original_context_length = 8192},
                    RopeSpec{.rotary_dim = 64,
                             .scaling = RopeScalingKind::kYarn,
                             .factor = 16,
                             .original_context_length = 4096,
                             .attention_factor = YarnMagnitude(16)}),
    [](const auto& parameter) { return std::to_string(parameter.index); });

// --- ALiBi ---

// The slopes of n heads, as the paper states them and its code has them: for a power of two the
// geometric sequence that starts at 2^(-8/n) and has that ratio; otherwise those of the power of
// two below, then of the power above every other one, as far as needed.
std::vector<double> PaperSlopes(int64_t n) {
  const auto of_power = [](int64_t power) {
    const double ratio = std::exp2(-8.0 / static_cast<double>(power));
    std::vector<double> slopes;
    for (double slope = ratio; std::ssize(slopes) < power; slope *= ratio) slopes.push_back(slope);
    return slopes;
  };
  int64_t below = 1;
  while (2 * below <= n) below *= 2;
  std::vector<double> slopes = of_power(below);
  const std::vector<double> above = of_power(2 * below);
  for (size_t i = 0; std::ssize(slopes) < n; i += 2) slopes.push_back(above[i]);
  return slopes;
}

TEST(AlibiTest, SlopesOfAnyNumberOfHeads) {
  for (int64_t n = 1; n <= 200; ++n) {
    const std::vector<double> expected = PaperSlopes(n);
    const std::vector<float> slopes = AlibiSlopes(n, 8);
    ASSERT_EQ(std::ssize(slopes), n);
    for (size_t i = 0; i < slopes.size(); ++i) {
      ASSERT_NEAR(slopes[i], expected[i], 1e-6 * expected[i]) << "head " << i << " of " << n;
    }
  }
}

// Eight heads are the paper's example, twelve (BLOOM's and MPT's sizes have such) the smallest in
// use that is no power of two: the eight, then 2^(-1/2), 2^(-3/2), ...
TEST(AlibiTest, SlopesWrittenOut) {
  const std::vector<float> eight = {0x1p-1F, 0x1p-2F, 0x1p-3F, 0x1p-4F,
                                    0x1p-5F, 0x1p-6F, 0x1p-7F, 0x1p-8F};
  EXPECT_EQ(AlibiSlopes(8, 8), eight);
  std::vector<float> twelve = eight;
  for (const double exponent : {-0.5, -1.5, -2.5, -3.5}) {
    twelve.push_back(static_cast<float>(std::exp2(exponent)));
  }
  EXPECT_EQ(AlibiSlopes(12, 8), twelve);
}

// Of keys that are all alike only the distance counts, and attention becomes a geometric sequence,
// p_d = r^d (1 - r) / (1 - r^n) with r = e^-slope. With slope ln 2 and the distance as the value
// the result is the mean of that distribution, r / (1 - r) - n r^n / (1 - r^n).
TEST(AlibiTest, WeightsFallGeometrically) {
  const ScopedFlushDenormals flush;
  Random random(52);
  for (const int64_t n : {1, 2, 5, 16, 300}) {
    AttentionShape shape = {.key_dim = 32,
                            .heads = 1,
                            .block_size = 16,
                            .first_position = n - 1,
                            .row_count = 1,
                            .has_slopes = true};
    AttentionScene scene(shape, false, random);
    scene.SetKeys(0);
    scene.SetSlopes(std::log(2.0F));
    for (int64_t position = 0; position < n; ++position) {
      scene.SetValue(position, static_cast<float>(std::min<int64_t>(n - 1 - position, 256)));
    }
    const double power = std::exp2(-static_cast<double>(n));
    const double mean = 1 - static_cast<double>(n) * power / (1 - power);
    std::vector<KernelTable> tables = TablesHere(Arithmetic::kBF16);
    tables.push_back(BlasTable());
    for (const KernelTable& kernels : tables) {
      const double tolerance = kernels.arithmetic == Arithmetic::kF32 ? 1e-5 : 4e-3;
      for (const float out : scene.Attend(kernels, 16, 1, random)) {
        ASSERT_NEAR(out, mean, tolerance) << kernels.name << ", " << n << " positions";
      }
    }
  }
}

}  // namespace
}  // namespace weft
