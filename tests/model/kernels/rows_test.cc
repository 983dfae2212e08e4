// Functions on rows of float32: every instruction set equals scalar bit for bit; scalar agrees with
// double precision.
#include <algorithm>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "model/kernels/scalar_math.h"
#include "tests/model/kernels/rows_fixture.h"

namespace weft {
namespace {

TEST_F(RowsTest, EveryInstructionSetEqualsScalar) {
  for (int trial = 0; trial < 60; ++trial) {
    const int64_t n = trial < 13 ? lengths_[static_cast<size_t>(trial)] : random_.Integer(1, 300);
    const bool wild = trial % 2 == 1;
    const std::vector<float> x = wild ? random_.Wilds(n) : random_.Normals(n);
    const std::vector<float> y = wild ? random_.Wilds(n) : random_.Normals(n);
    const std::vector<float> z = wild ? random_.Wilds(n) : random_.Normals(n);
    const float factor = random_.Normal();
    ExpectEqual(
        x,
        [&](const KernelTable& k, auto& v) { k.rms_norm(v.data(), y.data(), n, 1e-5F, v.data()); },
        "rms_norm");
    ExpectEqual(
        x,
        [&](const KernelTable& k, auto& v) { k.rms_norm(v.data(), nullptr, n, 1e-5F, v.data()); },
        "rms_norm without weight");
    for (const float* weight : {y.data(), static_cast<const float*>(nullptr)}) {
      for (const float* bias : {z.data(), static_cast<const float*>(nullptr)}) {
        ExpectEqual(
            x,
            [&](const KernelTable& k, auto& v) {
              k.layer_norm(v.data(), weight, bias, n, 1e-5F, v.data());
            },
            "layer_norm");
      }
    }
    ExpectEqual(
        x, [&](const KernelTable& k, auto& v) { k.scale(v.data(), factor, n); }, "scale");
    ExpectEqual(
        x, [&](const KernelTable& k, auto& v) { k.add(v.data(), y.data(), n); }, "add");
    ExpectEqual(
        x, [&](const KernelTable& k, auto& v) { k.multiply(v.data(), y.data(), n); }, "multiply");
    ExpectEqual(
        x, [&](const KernelTable& k, auto& v) { k.multiply_add(v.data(), y.data(), factor, n); },
        "multiply_add");
    ExpectEqual(
        x, [&](const KernelTable& k, auto& v) { k.softmax(v.data(), n); }, "softmax");
    for (const OperandType type : {OperandType::kF32, OperandType::kBF16, OperandType::kInt8}) {
      ExpectEqual(
          x, [&](const KernelTable& k, auto& v) { v = Operand(k, type, x); }, "to_operand");
    }
  }
}

// The code of x is x / scale to the nearest, and the sums are the codes'.
TEST_F(RowsTest, Int8OperandsAreTheNearestCodes) {
  for (const int64_t n : lengths_) {
    const std::vector<float> x = random_.Normals(n);
    const OperandMatrix operand = ToOperands(scalar_, OperandType::kInt8, x, n, false);
    for (int64_t first = 0; first < n; first += kGroupColumns) {
      Int8Group group;
      std::memcpy(&group, operand.bytes.data() + first / kGroupColumns * operand.group_bytes,
                  sizeof(group));
      float largest = 0;
      int32_t sums[2] = {};
      for (int64_t i = 0; i < kGroupColumns; ++i) {
        const float value = first + i < n ? x[static_cast<size_t>(first + i)] : 0.0F;
        const auto code = int32_t{group.codes[4 * QuadOf(i) + ByteOf(i)]};
        largest = std::max(largest, std::fabs(value));
        sums[i / 16] += code;
        EXPECT_NEAR(static_cast<float>(code) * group.scale, value, group.scale * 0.5001F);
      }
      EXPECT_EQ(group.scale, largest / 127.0F);
      EXPECT_EQ(group.sums[0], sums[0]);
      EXPECT_EQ(group.sums[1], sums[1]);
      EXPECT_EQ(group.scaled_sum, group.scale * static_cast<float>(sums[0] + sums[1]));
    }
  }
}

TEST_F(RowsTest, Int8OperandsOfWhatIsNotFiniteAreNaN) {
  for (const float bad : {std::numeric_limits<float>::infinity(), -NAN}) {
    std::vector<float> x = random_.Normals(64);
    x[40] = bad;
    const OperandMatrix operand = ToOperands(scalar_, OperandType::kInt8, x, 64, false);
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(std::isnan(operand.values[i]), i >= 32) << i;
  }
}

TEST_F(RowsTest, Int8OperandsNearZeroAreZero) {
  for (const float small : {0.0F, 1e-40F, 0x0.fp-110F}) {
    const OperandMatrix operand =
        ToOperands(scalar_, OperandType::kInt8, std::vector<float>(32, small), 32, false);
    for (const float value : operand.values) EXPECT_EQ(value, 0.0F);
  }
}

// Vectors take several groups at a time.
TEST_F(RowsTest, OneGroupOutOfTheOrdinaryChangesNoOther) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float odd : {0.0F, 1e-36F, 3e38F, kInfinity, -kInfinity, NAN}) {
    for (size_t group = 0; group < 9; ++group) {
      std::vector<float> x = random_.Normals(9 * kGroupColumns);
      const auto first = x.begin() + static_cast<int64_t>(group) * kGroupColumns;
      std::fill_n(first, kGroupColumns, odd == 0 ? 0.0F : 1e-36F);
      first[7] = odd;
      ExpectEqual(
          x, [&](const KernelTable& k, auto& v) { v = Operand(k, OperandType::kInt8, x); },
          "to_operand");
    }
  }
}

TEST_F(RowsTest, RopeEqualsScalar) {
  for (const int64_t rotary_dim : {2, 16, 20, 64, 96, 128}) {
    const std::vector<float> head = random_.Normals(rotary_dim + 8);
    const std::vector<float> cos = random_.Normals(rotary_dim / 2);
    const std::vector<float> sin = random_.Normals(rotary_dim / 2);
    for (const RopePairing pairing : {RopePairing::kHalves, RopePairing::kNeighbours}) {
      ExpectEqual(
          head,
          [&](const KernelTable& k, auto& v) {
            k.rope(v.data(), cos.data(), sin.data(), rotary_dim, pairing);
            for (size_t i = v.size() - 8; i < v.size(); ++i) EXPECT_EQ(v[i], head[i]);
          },
          "rope");
    }
  }
}

TEST_F(RowsTest, DenseDotEqualsScalarAndIsRight) {
  for (const int64_t columns : lengths_) {
    const int64_t rows = 9;
    const std::vector<float> x = random_.Normals(columns);
    const std::vector<float> w = random_.Normals(rows * columns);
    std::vector<float> y(static_cast<size_t>(rows));
    ExpectEqual(
        y,
        [&](const KernelTable& k, auto& v) {
          k.dense_dot(x.data(), w.data(), rows, columns, v.data());
          y = v;
        },
        "dense_dot");
    for (int64_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (int64_t i = 0; i < columns; ++i) {
        sum += static_cast<double>(x[static_cast<size_t>(i)]) *
               w[static_cast<size_t>(row * columns + i)];
      }
      EXPECT_NEAR(y[static_cast<size_t>(row)], sum, 1e-4);
    }
  }
}

TEST_F(RowsTest, ScalarAgreesWithDoublePrecision) {
  const int64_t n = 333;
  const std::vector<float> x = random_.Normals(n);
  const std::vector<float> weight = random_.Normals(n);
  std::vector<float> normed(x.size());
  scalar_.rms_norm(x.data(), weight.data(), n, 1e-5F, normed.data());
  std::vector<float> probabilities = x;
  scalar_.softmax(probabilities.data(), n);
  double squares = 0;
  double exponentials = 0;
  for (const float value : x) {
    squares += static_cast<double>(value) * value;
    exponentials += std::exp(static_cast<double>(value));
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = x[i] / std::sqrt(squares / n + 1e-5) * weight[i];
    EXPECT_NEAR(normed[i], expected, 1e-6 + std::fabs(expected) * 1e-6);
    EXPECT_NEAR(probabilities[i], std::exp(static_cast<double>(x[i])) / exponentials, 1e-7);
  }
}

// Far from zero, where squares of the elements themselves would have lost the variance.
TEST_F(RowsTest, LayerNormAgreesWithDoublePrecision) {
  for (const int64_t n : lengths_) {
    std::vector<float> x = random_.Normals(n);
    for (float& value : x) value += 1000;
    const std::vector<float> weight = random_.Normals(n);
    const std::vector<float> bias = random_.Normals(n);
    std::vector<float> all(x.size());
    std::vector<float> none(x.size());
    scalar_.layer_norm(x.data(), weight.data(), bias.data(), n, 1e-5F, all.data());
    scalar_.layer_norm(x.data(), nullptr, nullptr, n, 1e-5F, none.data());
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(n);
    double squares = 0;
    for (const float value : x) squares += (value - mean) * (value - mean);
    const double root = std::sqrt(squares / static_cast<double>(n) + 1e-5);
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = (x[i] - mean) / root;
      // The mean is rounded to 2^-24 of 1000.
      EXPECT_NEAR(none[i], expected, 2e-4 / root) << n;
      EXPECT_NEAR(all[i], expected * weight[i] + bias[i], 1e-3 / root) << n;
    }
  }
}

TEST_F(RowsTest, ScaleAndNormWithoutWeightAreRight) {
  const std::vector<float> x = random_.Normals(37);
  const std::vector<float> ones(37, 1.0F);
  std::vector<float> scaled = x;
  scalar_.scale(scaled.data(), 3.5F, 37);
  std::vector<float> without = x;
  scalar_.rms_norm(x.data(), nullptr, 37, 1e-5F, without.data());
  std::vector<float> with = x;
  scalar_.rms_norm(x.data(), ones.data(), 37, 1e-5F, with.data());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(scaled[i], x[i] * 3.5F);
  EXPECT_EQ(without, with);
}

TEST_F(RowsTest, ExpIsAccurateAndBounded) {
  for (float x = -87.2F; x < 88.2F; x += 0.00371F) {
    const double expected = std::exp(static_cast<double>(x));
    ASSERT_NEAR(scalar::Exp(x), expected, expected * 2.4e-7) << x;
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(scalar::Exp(0), 1.0F);
  EXPECT_EQ(scalar::Exp(-kInfinity), 0.0F);
  EXPECT_EQ(scalar::Exp(-100), 0.0F);
  EXPECT_EQ(scalar::Exp(100), kInfinity);
  EXPECT_EQ(scalar::Exp(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(scalar::Exp(std::numeric_limits<float>::quiet_NaN())));
}

// libm's fma is correctly rounded; the test keeps away from results that would be denormal.
TEST_F(RowsTest, FusedMultiplyAddIsCorrectlyRounded) {
  for (int i = 0; i < 2000000; ++i) {
    const float a = std::bit_cast<float>((random_.Bits() & 0x80ffffff) | 0x3f000000);
    const float b = std::bit_cast<float>((random_.Bits() & 0x80ffffff) | 0x3f000000);
    // From far below the product to far above it; often close to cancelling.
    const float c = i % 4 == 0
                        ? -(a * b)
                        : std::ldexp(random_.Normal(), static_cast<int>(random_.Integer(-60, 60)));
    ASSERT_EQ(ComparableBits(scalar::FusedMultiplyAdd(a, b, c)), ComparableBits(std::fma(a, b, c)))
        << a << ' ' << b << ' ' << c;
    const float short_a = BFloat16ToFloat(FloatToBFloat16(a));
    const float short_b = BFloat16ToFloat(FloatToBFloat16(b));
    ASSERT_EQ(ComparableBits(scalar::FusedMultiplyAddBF16(short_a, short_b, c)),
              ComparableBits(std::fma(short_a, short_b, c)));
  }
}

TEST_F(RowsTest, OperandsRoundToEvenAndFlush) {
  EXPECT_EQ(scalar::OperandBits(std::bit_cast<float>(0x3f808000)), 0x3f80);
  EXPECT_EQ(scalar::OperandBits(std::bit_cast<float>(0x3f818000)), 0x3f82);
  EXPECT_EQ(scalar::OperandBits(std::bit_cast<float>(0x3f808001)), 0x3f81);
  EXPECT_EQ(scalar::OperandBits(std::bit_cast<float>(0x007fffff)), 0x0000);
  EXPECT_EQ(scalar::OperandBits(std::bit_cast<float>(0x80400000)), 0x8000);
  EXPECT_EQ(scalar::OperandBits(std::bit_cast<float>(0x7f7fffff)), 0x7f80);  // rounds to infinity
  EXPECT_TRUE(std::isnan(BFloat16ToFloat(scalar::OperandBits(std::bit_cast<float>(0x7f800001)))));
}

TEST_F(RowsTest, Float32OperandsAreTheValuesThemselves) {
  const CpuFeatures cpu = DetectCpu();
  const KernelTable& f32 = KernelsFor(Arithmetic::kF32, cpu.avx2_fma ? Isa::kAvx2 : Isa::kScalar);
  const int64_t n = 37;
  const std::vector<float> x = random_.Normals(n);
  std::vector<float> operand(64, 9.0F);
  f32.to_operand(OperandType::kF32, x.data(), n, reinterpret_cast<std::byte*>(operand.data()),
                 OperandGroupBytes(OperandType::kF32));
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(operand[i], i < 37 ? x[i] : 0.0F);
}

TEST(TopKTest, LargestFirstTiesToTheLowerIndex) {
  Random random(12);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<float> values = random.Normals(random.Integer(1, 200));
    for (float& value : values) value = std::round(value * 4);  // many ties
    if (trial % 3 == 0) values[static_cast<size_t>(trial) % values.size()] = NAN;
    std::vector<int32_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      const auto key = [&](int32_t i) {
        const float value = values[static_cast<size_t>(i)];
        return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
      };
      return key(a) > key(b);
    });
    const auto n = static_cast<int64_t>(values.size());
    const int64_t k = random.Integer(0, n);
    std::vector<int32_t> indices(static_cast<size_t>(k));
    TopK(values.data(), n, k, indices.data());
    order.resize(static_cast<size_t>(k));
    EXPECT_EQ(indices, order);
  }
}

}  // namespace
}  // namespace weft
