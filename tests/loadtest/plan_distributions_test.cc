// What a plan draws follows the distributions that its options name. Seeds are fixed, so that
// nothing here fails by chance; the bounds are what a right generator stays within for nearly any
// seed.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loadtest/plan/arrivals.h"
#include "loadtest/plan/durations.h"
#include "loadtest/plan/lengths.h"
#include "loadtest/plan/random.h"

namespace weft {
namespace {

constexpr int kCount = 20000;

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments MomentsOf(const std::vector<double>& values) {
  Moments moments;
  const auto count = static_cast<double>(values.size());
  moments.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - moments.mean) * (value - moments.mean);
  moments.deviation = std::sqrt(squares / count);
  return moments;
}

// The greatest distance between the values' distribution and `cdf` (Kolmogorov, Smirnov), times
// sqrt(n): above 1.95 for one right generator in a thousand.
double KolmogorovSmirnov(std::vector<double> values, const std::function<double(double)>& cdf) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  double distance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = cdf(values[i]);
    distance = std::max({distance, expected - static_cast<double>(i) / count,
                         static_cast<double>(i + 1) / count - expected});
  }
  return distance * std::sqrt(count);
}

std::vector<double> Draw(const std::function<double()>& next) {
  std::vector<double> values(kCount);
  std::generate(values.begin(), values.end(), next);
  return values;
}

std::vector<double> GapsOf(const ArrivalOptions& options) {
  Arrivals arrivals(options, 1);
  double last = 0;
  return Draw([&] {
    const double time = std::chrono::duration<double>(arrivals.Next()).count();
    const double gap = time - last;
    last = time;
    return gap;
  });
}

TEST(Random, UniformAndNormalAndExponentialFollowTheirDistributions) {
  Random random(1);
  EXPECT_LT(KolmogorovSmirnov(Draw([&] { return random.Uniform(); }), [](double x) { return x; }),
            1.95);
  EXPECT_LT(KolmogorovSmirnov(Draw([&] { return random.Normal(); }),
                              [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }),
            1.95);
  EXPECT_LT(KolmogorovSmirnov(Draw([&] { return random.Exponential(); }),
                              [](double x) { return 1 - std::exp(-x); }),
            1.95);
}

TEST(Random, GammaFollowsItsDistribution) {
  Random random(2);
  // Closed forms: chi-square with one degree, and Erlang of three.
  EXPECT_LT(KolmogorovSmirnov(Draw([&] { return random.Gamma(0.5); }),
                              [](double x) { return std::erf(std::sqrt(x)); }),
            1.95);
  EXPECT_LT(KolmogorovSmirnov(Draw([&] { return random.Gamma(3); }),
                              [](double x) { return 1 - std::exp(-x) * (1 + x + x * x / 2); }),
            1.95);
}

TEST(Random, BelowGivesEveryValueItsShare) {
  Random random(3);
  std::vector<int> counts(10);
  for (int i = 0; i < kCount; ++i) ++counts[random.Below(10)];
  double chi_square = 0;
  for (const int count : counts) chi_square += std::pow(count - kCount / 10, 2) / (kCount / 10.0);
  EXPECT_LT(chi_square, 27.9);  // nine degrees, one in a thousand
}

TEST(Arrivals, PoissonGapsAreExponential) {
  const std::vector<double> gaps = GapsOf({.process = ArrivalProcess::kPoisson, .rate = 50});
  EXPECT_LT(KolmogorovSmirnov(gaps, [](double x) { return 1 - std::exp(-50 * x); }), 1.95);
}

TEST(Arrivals, PoissonCountsVaryAsMuchAsTheirMean) {
  Arrivals arrivals({.process = ArrivalProcess::kPoisson, .rate = 10}, 4);
  std::vector<double> counts(2000);
  for (double time = 0; time < 2000;) {
    time = std::chrono::duration<double>(arrivals.Next()).count();
    if (time < 2000) counts[static_cast<size_t>(time)] += 1;
  }
  const Moments moments = MomentsOf(counts);
  EXPECT_NEAR(moments.mean, 10, 0.3);
  EXPECT_NEAR(moments.deviation * moments.deviation, 10, 1);
}

TEST(Arrivals, GammaGapsHaveTheRateAndTheStatedVariation) {
  for (const double burstiness : {0.1, 0.25, 1.0, 4.0}) {
    const Moments moments = MomentsOf(
        GapsOf({.process = ArrivalProcess::kGamma, .rate = 20, .burstiness = burstiness}));
    const double variation = 1 / std::sqrt(burstiness);
    EXPECT_NEAR(moments.mean * 20, 1, 4 * variation / std::sqrt(kCount)) << burstiness;
    EXPECT_NEAR(moments.deviation / moments.mean, variation, 0.05 * variation) << burstiness;
  }
}

TEST(Arrivals, RampTimesAreUniformInTheSquareOfTime) {
  // In a Poisson process whose rate grows linearly from 0, (t / ramp)^2 of the arrivals is uniform.
  Arrivals arrivals({.rate = 100, .ramp = std::chrono::seconds(100)}, 5);
  std::vector<double> squares;
  for (double time = 0; time < 100;) {
    time = std::chrono::duration<double>(arrivals.Next()).count();
    if (time < 100) squares.push_back(time * time / 1e4);
  }
  EXPECT_NEAR(static_cast<double>(squares.size()), 5000, 3 * std::sqrt(5000));
  EXPECT_LT(KolmogorovSmirnov(squares, [](double x) { return x; }), 1.95);
}

LengthDistribution Lengths(const char* text) {
  const Result<LengthDistribution> lengths = ParseLengths(text);
  if (!lengths) ADD_FAILURE() << lengths.error().message;
  return lengths.value_or(LengthDistribution{});
}

std::vector<double> DrawLengths(const char* text) {
  Random random(6);
  const LengthDistribution lengths = Lengths(text);
  return Draw([&] { return DrawLength(lengths, random); });
}

TEST(Lengths, FollowTheirDistributions) {
  EXPECT_THAT(DrawLengths("512"), testing::Each(512));

  const std::vector<double> uniform = DrawLengths("3-5");
  for (const double length : {3.0, 4.0, 5.0}) {
    EXPECT_NEAR(static_cast<double>(std::count(uniform.begin(), uniform.end(), length)),
                kCount / 3.0, 300)
        << length;
  }
  EXPECT_THAT(uniform, testing::Each(testing::AllOf(testing::Ge(3), testing::Le(5))));

  const Moments normal = MomentsOf(DrawLengths("normal:512,128"));
  EXPECT_NEAR(normal.mean, 512, 4);
  EXPECT_NEAR(normal.deviation, 128, 3);

  const std::vector<double> lognormal = DrawLengths("lognormal:512,300");
  EXPECT_NEAR(MomentsOf(lognormal).mean, 512, 8);
  EXPECT_NEAR(MomentsOf(lognormal).deviation, 300, 15);
  const double sigma_square = std::log(1 + 300.0 * 300 / (512.0 * 512));
  const double median = 512 * std::exp(-sigma_square / 2);
  EXPECT_NEAR(static_cast<double>(std::count_if(lognormal.begin(), lognormal.end(),
                                                [&](double x) { return x < median; })),
              kCount / 2.0, 300);
}

TEST(Lengths, AreAtLeastOneAndBounded) {
  EXPECT_THAT(DrawLengths("normal:2,50"), testing::Each(testing::Ge(1)));
  EXPECT_THAT(DrawLengths("lognormal:10000000,10000000"), testing::Each(testing::Le(kMaxLength)));
}

TEST(Lengths, OthersAreRefused) {
  for (const char* text : {"",
                           "0",
                           "-5",
                           "1.5",
                           "12x",
                           "5-4",
                           "0-4",
                           "1-",
                           "-",
                           "1-2-3",
                           "normal:512",
                           "normal:512,",
                           "normal:,5",
                           "normal:0,5",
                           "normal:5,-1",
                           "normal:nan,1",
                           "lognormal:5,inf",
                           "uniform:1,2",
                           "10000001",
                           "1e3",
                           "normal"}) {
    const Result<LengthDistribution> lengths = ParseLengths(text);
    ASSERT_FALSE(lengths) << text;
    EXPECT_THAT(lengths.error().message,
                testing::HasSubstr("' is not a length from 1 to 10000000, or a distribution of "
                                   "them: expected N, LEAST-MOST"));
  }
}

TEST(Durations, AreSecondsOrHaveAUnit) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(ParseDuration("1.5")->count(), 1'500'000'000);
  EXPECT_EQ(ParseDuration("30s")->count(), 30'000'000'000);
  EXPECT_EQ(ParseDuration("250ms")->count(), 250'000'000);
  EXPECT_EQ(ParseDuration("10us")->count(), 10'000);
  EXPECT_EQ(ParseDuration("2m")->count(), 120'000'000'000);
  EXPECT_EQ(ParseDuration("1000h")->count(), 3'600'000'000'000'000);
  EXPECT_EQ(ParseDuration("0")->count(), 0);
  for (const char* text : {"", "s", "1 s", "1d", "1e3", "nan", "infs", "-1s", "1001h", "5ss"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
  EXPECT_EQ(ParseDuration("-1s").error().message, "'-1s' is not between 0 and 1000h");
  EXPECT_THAT(ParseDuration("1d").error().message,
              testing::HasSubstr("'1d' is not a time: expected a number of seconds"));
}

}  // namespace
}  // namespace weft
