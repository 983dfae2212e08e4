// Integers in every spelling that JSON has for them.
#include "proto/field_reader.h"

#include <string>

#include <gtest/gtest.h>

#include "proto/json_reader.h"

namespace weft {
namespace {

using nlohmann::json;

json Integer(const std::string& text) { return IntegerOf(ParseJson(text).value()); }

// The integer, or the refusal's message.
std::string Checked(const std::string& text, int32_t minimum = -kMaxInt32 - 1,
                    int32_t maximum = kMaxInt32) {
  int32_t output = 0;
  const ApiResult<void> checked =
      CheckInteger(ParseJson(text).value(), "n", minimum, maximum, output);
  return checked ? std::to_string(output) : checked.error().message;
}

TEST(FieldReaderTest, AnIntegerMayBeWrittenAsAFloat) {
  EXPECT_EQ(Checked("4"), "4");
  EXPECT_EQ(Checked("4.0"), "4");
  EXPECT_EQ(Checked("1e1"), "10");
  EXPECT_EQ(Checked("0.4e1"), "4");
  EXPECT_EQ(Checked("40e-1"), "4");
  EXPECT_EQ(Checked("-7.000"), "-7");
  EXPECT_EQ(Checked("-0.0"), "0");
  EXPECT_EQ(Checked("-0"), "0");
  EXPECT_EQ(Checked("2147483647.0"), "2147483647");
  EXPECT_EQ(Checked("-2.147483648e9"), "-2147483648");
}

TEST(FieldReaderTest, AFractionIsRefusedAndSoIsWhatIsOutOfRange) {
  EXPECT_EQ(Checked("4.5", 0, 10), "'n' must be an integer from 0 to 10, not the number 4.5");
  EXPECT_EQ(Checked("11.0", 0, 10), "'n' must be an integer from 0 to 10, not the number 11.0");
  EXPECT_EQ(Checked("-1.0", 0, 10), "'n' must be an integer from 0 to 10, not the number -1.0");
  EXPECT_EQ(Checked("1e300", 0, 10), "'n' must be an integer from 0 to 10, not the number 1e+300");
  EXPECT_EQ(Checked("-1e300", 0, 10),
            "'n' must be an integer from 0 to 10, not the number -1e+300");
  // 2^32 + 4: what a conversion to 32 bits would cut to 4.
  EXPECT_EQ(Checked("4294967300.0", 0, 10),
            "'n' must be an integer from 0 to 10, not the number 4294967300.0");
  EXPECT_EQ(Checked("1e-300", 0, 10), "'n' must be an integer from 0 to 10, not the number 1e-300");
  EXPECT_EQ(Checked("\"4\"", 0, 10), "'n' must be an integer from 0 to 10, not the string \"4\"");
}

TEST(FieldReaderTest, SixtyFourBitsAreKept) {
  EXPECT_EQ(Integer("18446744073709551615"), json(UINT64_MAX));
  EXPECT_EQ(Integer("1.8446744073709549568e19"), json(UINT64_MAX - 2047));
  EXPECT_EQ(Integer("1.8446744073709552e19"), json());  // 2^64
  EXPECT_EQ(Integer("-9.223372036854775808e18"), json(INT64_MIN));
  EXPECT_EQ(Integer("-9.3e18"), json());
  EXPECT_EQ(Integer("true"), json());
  EXPECT_EQ(Integer("[4]"), json());
}

}  // namespace
}  // namespace weft
