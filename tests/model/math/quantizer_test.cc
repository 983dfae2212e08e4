// The quantiser of activations, as the forward pass of a straight-through estimator.
//
//   Bengio, Leonard and Courville, "Estimating or Propagating Gradients Through Stochastic Neurons"
//   (2013, arXiv:1308.3432); quantisation-aware training as Jacob et al. (2018, arXiv:1712.05877)
//   have it. A network that is trained to be quantised computes x + stop_gradient(Q(x) - x): its
//   gradient is that of x, its value is Q(x). What serves it needs Q alone.
//
// Q here is Int8Group's: 32 elements share scale = max |x| / 127, and x becomes round(x / scale) *
// scale.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/float_env.h"
#include "tests/model/kernels/tables_here.h"

namespace weft {
namespace {

struct Quantized {
  std::vector<int> codes;
  std::vector<float> values;  // code * scale
  float scale;
};

class QuantizerTest : public testing::Test {
 protected:
  static Quantized Quantize(const KernelTable& kernels, const std::vector<float>& x) {
    Int8Group group;
    kernels.to_operand(OperandType::kInt8, x.data(), std::ssize(x),
                       reinterpret_cast<std::byte*>(&group), sizeof(group));
    Quantized result = {{}, {}, group.scale};
    for (int64_t i = 0; i < std::ssize(x); ++i) {
      const auto code = int{group.codes[4 * QuadOf(i) + ByteOf(i)]};
      result.codes.push_back(code);
      result.values.push_back(static_cast<float>(code) * group.scale);
    }
    return result;
  }

  std::vector<float> Group() {
    std::vector<float> x = random_.Normals(kGroupColumns);
    const float size = std::ldexp(1.0F, static_cast<int>(random_.Integer(-30, 30)));
    for (float& each : x) each *= size;
    return x;
  }

  static constexpr int kTrials = 2000;
  const std::vector<KernelTable> tables_ = TablesHere(Arithmetic::kInt8);
  Random random_{71};
  ScopedFlushDenormals flush_;
};

// |x - Q(x)| <= scale / 2, and no code is nearer. The largest element becomes +-127: Q uses all of
// its range and never leaves it.
TEST_F(QuantizerTest, RoundsToTheNearestWithinHalfAStep) {
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::vector<float> x = Group();
    for (const KernelTable& kernels : tables_) {
      const Quantized q = Quantize(kernels, x);
      int largest = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double error = std::fabs(double{x[i]} - double{q.values[i]});
        ASSERT_LE(error, 0.50001 * double{q.scale}) << kernels.name;
        largest = std::max(largest, std::abs(q.codes[i]));
      }
      ASSERT_EQ(largest, 127) << kernels.name;
    }
  }
}

// Errors of rounding are nearly uniform on half a step either way, so that their mean square is
// scale^2 / 12 (Bennett, "Spectra of Quantized Signals", 1948).
TEST_F(QuantizerTest, ItsNoiseHasATwelfthOfTheSquaredStep) {
  for (const KernelTable& kernels : tables_) {
    double sum = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const std::vector<float> x = Group();
      const Quantized q = Quantize(kernels, x);
      for (size_t i = 0; i < x.size(); ++i) {
        const double steps = (double{x[i]} - double{q.values[i]}) / double{q.scale};
        sum += steps * steps;
      }
    }
    EXPECT_NEAR(sum / (kTrials * kGroupColumns), 1.0 / 12, 0.004) << kernels.name;
  }
}

// Q(Q(x)) = Q(x). Codes are the same always. The scale is, too, but for one in 128 of them where
// 127 * scale lies halfway between two floats: then it may be its neighbour.
TEST_F(QuantizerTest, IsIdempotent) {
  for (const KernelTable& kernels : tables_) {
    int other_scales = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const Quantized once = Quantize(kernels, Group());
      const Quantized twice = Quantize(kernels, once.values);
      ASSERT_EQ(twice.codes, once.codes) << kernels.name;
      if (twice.scale == once.scale) continue;
      ++other_scales;
      const float next = std::nextafter(once.scale, twice.scale);
      ASSERT_EQ(twice.scale, next) << kernels.name;
    }
    EXPECT_LT(other_scales, kTrials / 64) << kernels.name;
  }
}

// Q is odd, and it commutes with powers of two, which change no significand.
TEST_F(QuantizerTest, CommutesWithSignsAndPowersOfTwo) {
  for (int trial = 0; trial < 200; ++trial) {
    const std::vector<float> x = Group();
    for (const float factor : {-1.0F, 2.0F, -0x1p-9F}) {
      std::vector<float> multiplied = x;
      for (float& each : multiplied) each *= factor;
      for (const KernelTable& kernels : tables_) {
        std::vector<float> expected = Quantize(kernels, x).values;
        for (float& each : expected) each *= factor;
        ASSERT_EQ(Quantize(kernels, multiplied).values, expected) << kernels.name << ' ' << factor;
      }
    }
  }
}

// The estimator's forward pass, written as training writes it, is Q(x) to the bit: where the code
// is not 0, x and Q(x) are within a factor of two of each other, so that their difference is exact
// (Sterbenz, "Floating-Point Computation", 1974); where it is 0, so is the sum.
TEST_F(QuantizerTest, StraightThroughGivesTheRoundedValue) {
  const auto straight_through = [](float x, float q) {
    const float stopped = q - x;  // of which no gradient is taken
    return x + stopped;
  };
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::vector<float> x = Group();
    for (const KernelTable& kernels : tables_) {
      const Quantized q = Quantize(kernels, x);
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(straight_through(x[i], q.values[i]), q.values[i]) << kernels.name << ' ' << x[i];
      }
    }
  }
}

// Where the gradient goes through and where the value does not move: Q is a staircase. Between
// steps it is constant; x crosses a step at half codes.
TEST_F(QuantizerTest, IsAStaircase) {
  for (const KernelTable& kernels : tables_) {
    std::vector<float> x(kGroupColumns);
    x.back() = 127;  // scale 1
    for (int eighths = -127 * 8; eighths <= 127 * 8; ++eighths) {
      x.front() = static_cast<float>(eighths) / 8;
      const Quantized q = Quantize(kernels, x);
      ASSERT_EQ(q.scale, 1.0F);
      ASSERT_EQ(q.values.front(), std::nearbyint(x.front())) << kernels.name << ' ' << x.front();
    }
  }
}

}  // namespace
}  // namespace weft
