#include "engine/drain_rate.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr DrainRate::Time kBegin{};

// Steps of 100 ms, in each of which `left` requests leave a queue that stands.
DrainRate::Time Stand(DrainRate& rate, DrainRate::Time now, int step_count, int32_t left) {
  for (int i = 0; i < step_count; ++i) {
    now += milliseconds(100);
    rate.Add(now, left, true);
  }
  return now;
}

TEST(DrainRate, IsUnknownUntilSomebodyHasLeftAQueueThatStood) {
  DrainRate rate;
  rate.Add(kBegin, 7, false);
  rate.Add(kBegin + seconds(1), 7, true);  // it stands from here
  EXPECT_EQ(rate.per_second(), std::nullopt);
  rate.Add(kBegin + seconds(2), 0, true);
  EXPECT_EQ(rate.per_second(), std::nullopt);
  rate.Add(kBegin + seconds(3), 1, true);
  EXPECT_TRUE(rate.per_second().has_value());
}

TEST(DrainRate, IsWhatLeavesInASecond) {
  DrainRate rate;
  rate.Add(kBegin, 0, true);
  Stand(rate, kBegin, 1000, 5);
  EXPECT_NEAR(*rate.per_second(), 50, 1e-6);
}

TEST(DrainRate, LearnsNothingWhileNobodyWaits) {
  DrainRate rate;
  rate.Add(kBegin, 0, true);
  DrainRate::Time now = Stand(rate, kBegin, 10, 5);
  rate.Add(now += milliseconds(100), 5, false);
  const double before = *rate.per_second();
  rate.Add(now += seconds(3600), 1, false);  // one in an hour, which is all that came
  rate.Add(now += seconds(3600), 1, true);
  EXPECT_EQ(*rate.per_second(), before);
}

TEST(DrainRate, ForgetsHowItWas) {
  DrainRate rate;
  rate.Add(kBegin, 0, true);
  const DrainRate::Time slow = Stand(rate, kBegin, 100, 1);
  EXPECT_NEAR(*rate.per_second(), 10, 1e-6);
  Stand(rate, slow, 100, 9);  // ten seconds: the half of what is known, and more
  EXPECT_GT(*rate.per_second(), 60);
  EXPECT_LT(*rate.per_second(), 90);
}

}  // namespace
}  // namespace weft
