#include "base/exact_math.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "base/float_env.h"

namespace weft {
namespace {

// Distance from libm's long double result in ulps of the double.
double UlpError(double value, long double expected) {
  const double nearest = static_cast<double>(expected);
  const double ulp = std::nextafter(std::fabs(nearest), INFINITY) - std::fabs(nearest);
  return static_cast<double>(std::fabs(static_cast<long double>(value) - expected) / ulp);
}

class ExactMathTest : public testing::Test {
 protected:
  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  std::mt19937_64 random_{7};
};

TEST_F(ExactMathTest, ExpIsWithinOneUlp) {
  for (int i = 0; i < 200000; ++i) {
    const double x = i % 2 == 0 ? Uniform(-700, 709) : Uniform(-2, 2);
    ASSERT_LE(UlpError(exact::Exp(x), std::exp(static_cast<long double>(x))), 1.0) << x;
  }
  EXPECT_EQ(exact::Exp(0), 1.0);
  EXPECT_EQ(exact::Exp(-750), 0.0);
  EXPECT_EQ(exact::Exp(710), INFINITY);
  EXPECT_EQ(exact::Exp(-INFINITY), 0.0);
  EXPECT_EQ(exact::Exp(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(exact::Exp(NAN)));
}

TEST_F(ExactMathTest, LogIsWithinOneUlp) {
  for (int i = 0; i < 200000; ++i) {
    const double x = i % 2 == 0 ? std::exp(Uniform(-700, 700)) : Uniform(0.5, 2);
    ASSERT_LE(UlpError(exact::Log(x), std::log(static_cast<long double>(x))), 1.0) << x;
  }
  EXPECT_EQ(exact::Log(1), 0.0);
  EXPECT_EQ(exact::Log(0), -INFINITY);
  EXPECT_EQ(exact::Log(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(exact::Log(-1)));
  EXPECT_TRUE(std::isnan(exact::Log(NAN)));
}

TEST_F(ExactMathTest, PowStaysAccurateForRopeAndFarOut) {
  for (int i = 0; i < 100000; ++i) {
    const double base = std::exp(Uniform(-16, 16));
    const double exponent = Uniform(-4, 4);
    ASSERT_LE(
        UlpError(exact::Pow(base, exponent), std::pow(static_cast<long double>(base), exponent)),
        2.0)
        << base << " ^ " << exponent;
    const double far = Uniform(-43, 43);
    ASSERT_LE(UlpError(exact::Pow(base, far), std::pow(static_cast<long double>(base), far)), 10.0)
        << base << " ^ " << far;
  }
  EXPECT_EQ(exact::Pow(10000, 0), 1.0);
  EXPECT_EQ(exact::Pow(2, 10), 1024.0);
  EXPECT_EQ(exact::Pow(0, 2), 0.0);
  EXPECT_EQ(exact::Pow(0, -2), INFINITY);
  EXPECT_EQ(exact::Pow(10, 400), INFINITY);
  EXPECT_EQ(exact::Pow(10, -400), 0.0);
  EXPECT_TRUE(std::isnan(exact::Pow(-1, 0.5)));
  EXPECT_TRUE(std::isnan(exact::Pow(NAN, 0.5)));
}

TEST_F(ExactMathTest, SinAndCosHoldForAnglesOfLongContexts) {
  constexpr double kNearZero = std::numeric_limits<double>::epsilon();
  for (int i = 0; i < 300000; ++i) {
    const double x = Uniform(-1, 1) * std::exp2(Uniform(-20, 26));
    const long double sine = std::sin(static_cast<long double>(x));
    const long double cosine = std::cos(static_cast<long double>(x));
    if (std::fabs(sine) > kNearZero) {
      ASSERT_LE(UlpError(exact::Sin(x), sine), 1.0) << x;
    }
    if (std::fabs(cosine) > kNearZero) {
      ASSERT_LE(UlpError(exact::Cos(x), cosine), 1.0) << x;
    }
  }
  EXPECT_EQ(exact::Sin(0), 0.0);
  EXPECT_EQ(exact::Cos(0), 1.0);
  EXPECT_TRUE(std::isnan(exact::Sin(1e9)));
  EXPECT_TRUE(std::isnan(exact::Cos(INFINITY)));
}

TEST_F(ExactMathTest, FlushingDenormalsChangesNoBit) {
  for (int i = 0; i < 20000; ++i) {
    const double x = Uniform(-708, 708);
    const double angle = Uniform(-1e6, 1e6);
    const double plain[] = {exact::Exp(x), exact::Log(std::fabs(x)),
                            exact::Pow(std::fabs(x), x / 10), exact::Sin(angle), exact::Cos(angle)};
    const ScopedFlushDenormals flush;
    ASSERT_EQ(plain[0], exact::Exp(x));
    ASSERT_EQ(plain[1], exact::Log(std::fabs(x)));
    ASSERT_EQ(plain[2], exact::Pow(std::fabs(x), x / 10));
    ASSERT_EQ(plain[3], exact::Sin(angle));
    ASSERT_EQ(plain[4], exact::Cos(angle));
  }
}

}  // namespace
}  // namespace weft
