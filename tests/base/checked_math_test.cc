#include "base/checked_math.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr uint64_t kMax = UINT64_MAX;

TEST(CheckedMath, AddAndMultiplyStopAtTheLastRepresentableValue) {
  EXPECT_EQ(CheckedAdd(kMax - 1, 1), kMax);
  EXPECT_EQ(CheckedAdd(kMax, 1), std::nullopt);
  EXPECT_EQ(CheckedMultiply(kMax, 1), kMax);
  EXPECT_EQ(CheckedMultiply(kMax, 0), 0u);
  EXPECT_EQ(CheckedMultiply(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(CheckedMultiply(uint64_t{1} << 32, (uint64_t{1} << 32) - 1),
            kMax - (uint64_t{1} << 32) + 1);
}

TEST(CheckedMath, RoundUpAndCeilDivide) {
  EXPECT_EQ(RoundUp(0, 16), 0);
  EXPECT_EQ(RoundUp(1, 16), 16);
  EXPECT_EQ(RoundUp(16, 16), 16);
  EXPECT_EQ(CeilDivide(0, 16), 0);
  EXPECT_EQ(CeilDivide(16, 16), 1);
  EXPECT_EQ(CeilDivide(17, 16), 2);
}

}  // namespace
}  // namespace weft
