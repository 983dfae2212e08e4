// Residuals of int8 operands: of which groups there are any, and what they are. Products with them
// run in matmul_test.cc.
#include "model/kernels/int8_residual.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/kernels/rows_fixture.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ResidualTest : public RowsTest {
 protected:
  // One float a group that is its largest, at another place in each; small ones beside it.
  std::vector<float> Row(const std::vector<float>& largest_of_group) {
    std::vector<float> x;
    for (const float largest : largest_of_group) {
      std::vector<float> group = random_.Normals(kGroupColumns);
      for (float& value : group) value = std::clamp(value, -3.0F, 3.0F) * 0.01F * largest;
      group[x.size() / kGroupColumns % kGroupColumns] = largest;
      x.insert(x.end(), group.begin(), group.end());
    }
    return x;
  }
  OperandMatrix Coded(const std::vector<float>& x) {
    const auto n = static_cast<int64_t>(x.size());
    OperandMatrix row = ToOperands(scalar_, OperandType::kInt8, x, n, false);
    AddResiduals(scalar_, x, row);
    return row;
  }
  static std::vector<int32_t> GroupsOf(const OperandMatrix& row) {
    std::vector<int32_t> groups;
    for (const Int8Residual& residual : row.residuals) {
      if (residual.group == kNoGroup) break;
      groups.push_back(residual.group);
    }
    return groups;
  }
};

TEST_F(ResidualTest, OneOfTwentyGroupsHasOneAndOneAtLeast) {
  EXPECT_EQ(MostResiduals(1), 1);
  EXPECT_EQ(MostResiduals(39 * kGroupColumns), 1);
  EXPECT_EQ(MostResiduals(40 * kGroupColumns), 2);
  EXPECT_EQ(MostResiduals(39 * kGroupColumns + 1), 2);
}

TEST_F(ResidualTest, TheGroupsWithTheLargestScalesHaveThemInAscendingOrder) {
  std::vector<float> largest(60, 1.0F);
  largest[7] = -40;
  largest[50] = 60;
  largest[33] = 50;
  largest[8] = 30;  // the fourth
  EXPECT_THAT(GroupsOf(Coded(Row(largest))), ElementsAre(7, 33, 50));
  largest[59] = 70;  // the last one can displace one, too
  EXPECT_THAT(GroupsOf(Coded(Row(largest))), ElementsAre(33, 50, 59));
}

TEST_F(ResidualTest, OfEqualScalesTheFirstGroupsHaveThem) {
  const std::vector<float> x(60 * kGroupColumns, 0.3F);
  EXPECT_THAT(GroupsOf(Coded(x)), ElementsAre(0, 1, 2));
}

TEST_F(ResidualTest, NoneOfZerosNorOfWhatIsNotFinite) {
  EXPECT_THAT(GroupsOf(Coded(std::vector<float>(60 * kGroupColumns, 0.0F))), IsEmpty());
  std::vector<float> x(60 * kGroupColumns, 0.0F);
  x[5 * kGroupColumns] = std::numeric_limits<float>::infinity();
  x[6 * kGroupColumns] = std::numeric_limits<float>::quiet_NaN();
  x[7 * kGroupColumns] = 1;
  EXPECT_THAT(GroupsOf(Coded(x)), ElementsAre(7));
}

// A row stands for its elements within half a code, and where it has residuals within half of a
// code of what half a code is.
TEST_F(ResidualTest, CodesWhatRoundingLeft) {
  for (const int64_t n : {int64_t{1}, int64_t{31}, int64_t{33}, 60 * kGroupColumns - 5}) {
    const std::vector<float> x = random_.Normals(n);
    const OperandMatrix row = Coded(x);
    const std::vector<int32_t> groups = GroupsOf(row);
    ASSERT_FALSE(groups.empty());
    for (int64_t i = 0; i < n; ++i) {
      float scale;
      std::memcpy(
          &scale,
          row.bytes.data() + i / kGroupColumns * row.group_bytes + offsetof(Int8Group, scale),
          sizeof(scale));
      const bool again = std::ranges::count(groups, i / kGroupColumns) > 0;
      const float most = again ? scale * 0.5001F / 127 * 0.5001F : scale * 0.5001F;
      EXPECT_NEAR(row.values[static_cast<size_t>(i)], x[static_cast<size_t>(i)], most)
          << i << " of " << n;
    }
  }
}

TEST_F(ResidualTest, EveryInstructionSetWritesTheSame) {
  for (int trial = 0; trial < 20; ++trial) {
    const int64_t n = random_.Integer(1, 3000);
    const std::vector<float> x = trial % 2 == 0 ? random_.Normals(n) : random_.Wilds(n);
    ExpectEqual(
        x,
        [&](const KernelTable& k, auto& v) {
          OperandMatrix row = ToOperands(k, OperandType::kInt8, x, n, false);
          AddResiduals(k, x, row);
          v = row.values;
        },
        "WriteResiduals");
  }
}

}  // namespace
}  // namespace weft
