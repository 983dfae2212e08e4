// Softmax, p = e^x / (sum of e^x): where attention's weights, a router's shares and a sampler's
// probabilities come from.
//
//   Invariance under shifts, softmax(x + c) = softmax(x): Goodfellow, Bengio and Courville, "Deep
//   Learning" (2016), section 4.1, which is also where the largest element is subtracted for
//   stability. The derivative, J = diag(p) - p p^T: Bridle, "Probabilistic Interpretation of
//   Feedforward Classification Network Outputs" (1990).
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/float_env.h"
#include "tests/model/kernels/tables_here.h"

namespace weft {
namespace {

class SoftmaxTest : public testing::Test {
 protected:
  static std::vector<float> Softmax(const KernelTable& kernels, std::vector<float> x) {
    kernels.softmax(x.data(), std::ssize(x));
    return x;
  }

  // Multiples of 2^-10 in (-8, 8): sums of them and of small integers are exact in float32.
  std::vector<float> OnAGrid(int64_t n) {
    std::vector<float> x;
    for (int64_t i = 0; i < n; ++i) {
      x.push_back(static_cast<float>(random_.Integer(-8191, 8191)) / 1024);
    }
    return x;
  }

  std::vector<KernelTable> Tables() const {
    std::vector<KernelTable> tables = TablesHere(Arithmetic::kBF16);
    tables.push_back(BlasTable());
    return tables;
  }

  std::vector<int64_t> lengths_ = {1, 2, 3, 15, 16, 17, 64, 100, 257};
  Random random_{31};
  ScopedFlushDenormals flush_;
};

// p_i = e^(x_i) / sum of e^(x_j): positive, in the order of x, and 1 together.
TEST_F(SoftmaxTest, IsADistribution) {
  for (const int64_t n : lengths_) {
    const std::vector<float> x = OnAGrid(n);
    double sum = 0;
    for (const float each : x) sum += std::exp(double{each});
    for (const KernelTable& kernels : Tables()) {
      double total = 0;
      const std::vector<float> p = Softmax(kernels, x);
      for (size_t i = 0; i < x.size(); ++i) {
        const double expected = std::exp(double{x[i]}) / sum;
        EXPECT_NEAR(p[i], expected, 1e-6 * expected) << kernels.name;
        total += double{p[i]};
      }
      EXPECT_NEAR(total, 1, 1e-6) << kernels.name;
    }
  }
}

// softmax(x + c) = softmax(x) for every c, since e^c cancels. The kernel subtracts the largest
// element first, so that where x + c is exact not one bit differs.
TEST_F(SoftmaxTest, AShiftChangesNoBit) {
  for (const int64_t n : lengths_) {
    const std::vector<float> x = OnAGrid(n);
    for (const KernelTable& kernels : Tables()) {
      const std::vector<float> p = Softmax(kernels, x);
      for (const float c : {1.0F, -1.0F, 0.5F, 77.0F, -300.0F, 4096.0F}) {
        std::vector<float> shifted = x;
        for (float& each : shifted) each += c;
        EXPECT_EQ(Softmax(kernels, shifted), p) << kernels.name << ", " << n << " + " << c;
      }
    }
  }
}

// e^x is beyond float32 above 88.7, softmax never is: all that reaches e is x_i - max x <= 0.
TEST_F(SoftmaxTest, IsStableWhereExpIsNot) {
  constexpr float kMost = std::numeric_limits<float>::max();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  struct Case {
    std::vector<float> x;
    std::vector<float> p;
  };
  const std::vector<Case> cases = {
      {{1e4F, 1e4F}, {0.5F, 0.5F}},
      {{-1e4F, -1e4F, -1e4F, -1e4F}, {0.25F, 0.25F, 0.25F, 0.25F}},
      {{kMost, -kMost}, {1, 0}},  // their difference is not finite, either
      {{200, 0, 200}, {0.5F, 0, 0.5F}},
      {{-kInfinity, 3, -kInfinity}, {0, 1, 0}},  // what a mask takes away
  };
  for (const Case& one : cases) {
    for (const KernelTable& kernels : Tables()) {
      EXPECT_EQ(Softmax(kernels, one.x), one.p) << kernels.name << ", x[0] = " << one.x[0];
    }
  }
}

// The derivative of p_i by x_j is p_i (delta_ij - p_j). Held against central differences of the
// kernel, (p(x + h e_j) - p(x - h e_j)) / 2h. With h = 2^-7 their own error is below 2^-14 / 6
// times the third derivative, which is at most 1/8, and float32's rounding adds some 2^-17.
TEST_F(SoftmaxTest, ItsJacobianIsDiagonalLessOuterProduct) {
  constexpr float kStep = 0x1p-7F;
  constexpr double kTolerance = 0x1p-16;
  for (const int64_t n : {2, 5, 16, 33}) {
    const std::vector<float> x = OnAGrid(n);
    for (const KernelTable& kernels : Tables()) {
      const std::vector<float> p = Softmax(kernels, x);
      std::vector<double> row_sums(p.size());
      for (size_t j = 0; j < p.size(); ++j) {
        std::vector<float> above = x;
        std::vector<float> below = x;
        above[j] += kStep;
        below[j] -= kStep;
        above = Softmax(kernels, above);
        below = Softmax(kernels, below);
        double column_sum = 0;
        for (size_t i = 0; i < p.size(); ++i) {
          const double difference = (double{above[i]} - double{below[i]}) / (2 * kStep);
          const double jacobian = double{p[i]} * ((i == j ? 1.0 : 0.0) - double{p[j]});
          EXPECT_NEAR(difference, jacobian, kTolerance) << kernels.name << ' ' << i << ' ' << j;
          row_sums[i] += difference;
          column_sum += difference;
        }
        // What one probability gains the others lose.
        EXPECT_NEAR(column_sum, 0, kTolerance * static_cast<double>(n)) << kernels.name;
      }
      // Each row sums to 0: all elements raised alike raise nothing, the invariance once more.
      for (const double sum : row_sums) {
        EXPECT_NEAR(sum, 0, kTolerance * static_cast<double>(n)) << kernels.name;
      }
    }
  }
}

// J is symmetric and its quadratic form is a variance, v^T J v = E[v^2] - E[v]^2 >= 0: softmax is
// the gradient of a convex function, log sum exp. So along any direction v the kernel's p moves so
// that the mean of v under p does not fall.
TEST_F(SoftmaxTest, MovesTowardsWhatIsRaised) {
  for (const int64_t n : {2, 5, 16, 33}) {
    const std::vector<float> x = OnAGrid(n);
    const std::vector<float> v = OnAGrid(n);
    for (const KernelTable& kernels : Tables()) {
      double last = -std::numeric_limits<double>::infinity();
      for (int step = -8; step <= 8; ++step) {
        std::vector<float> moved = x;
        for (size_t i = 0; i < v.size(); ++i) moved[i] += static_cast<float>(step) / 8 * v[i];
        const std::vector<float> p = Softmax(kernels, moved);
        double mean = 0;
        for (size_t i = 0; i < v.size(); ++i) mean += double{p[i]} * double{v[i]};
        EXPECT_GE(mean, last - 1e-5) << kernels.name << ", step " << step;
        last = mean;
      }
    }
  }
}

}  // namespace
}  // namespace weft
