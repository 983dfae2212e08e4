#include "tests/grammar/schema/exact_number.h"

#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(ExactNumberTest, Order) {
  const std::vector<std::string> ascending = {"-1e99", "-10.5", "-10",  "-0.1", "-1e-30",
                                              "0",     "1e-30", "0.25", "0.3",  "14.00000000001",
                                              "15",    "1e2",   "1e99"};
  for (size_t i = 0; i < ascending.size(); ++i) {
    for (size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(ExactNumber(ascending[i]) <=> ExactNumber(ascending[j]), i <=> j)
          << ascending[i] << " and " << ascending[j];
    }
  }
  EXPECT_EQ(ExactNumber("-0.0"), ExactNumber("0"));
  EXPECT_EQ(ExactNumber("1.20E+1"), ExactNumber("12"));
}

TEST(ExactNumberTest, Multiples) {
  for (const auto& [number, step, is_multiple] :
       std::vector<std::tuple<std::string, std::string, bool>>{
           {"14", "2", true},
           {"14.00000000001", "2", false},
           {"-0.3", "0.1", true},
           {"0.35", "0.1", false},
           {"1e30", "3", false},
           {"3e30", "3", true},
           {"30", "20", false},
           {"40", "20", true},
           {"0", "0.7", true},
           {"7.5", "2.5", true},
       }) {
    EXPECT_EQ(ExactNumber(number).IsMultipleOf(ExactNumber(step)), is_multiple)
        << number << " of " << step;
  }
  EXPECT_TRUE(ExactNumber("2.00").IsInteger());
  EXPECT_FALSE(ExactNumber("25e-1").IsInteger());
}

}  // namespace
}  // namespace weft
