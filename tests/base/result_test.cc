#include "base/result.h"

#include <memory>

#include <gtest/gtest.h>

#include "base/log.h"

namespace weft {
namespace {

Result<int> Parse(bool valid) {
  if (!valid) return Fail(ErrorCode::kCorrupt, "{}: found {}, expected {}", "file", 1, 2);
  return 7;
}

Result<std::unique_ptr<int>> Double(bool valid) {
  WEFT_ASSIGN_OR_RETURN(const int value, Parse(valid));
  return std::make_unique<int>(2 * value);
}

Result<void> Check(bool valid) {
  WEFT_RETURN_IF_ERROR(Parse(valid));
  return {};
}

TEST(Result, ErrorsPassThroughTheMacrosUnchanged) {
  const auto failed = Double(false);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(failed.error().message, "file: found 1, expected 2");
  EXPECT_FALSE(Check(false).has_value());
}

TEST(Result, ValuesPassThroughTheMacros) {
  const auto doubled = Double(true);
  ASSERT_TRUE(doubled.has_value());
  EXPECT_EQ(**doubled, 14);
  EXPECT_TRUE(Check(true).has_value());
}

TEST(Log, LevelNames) {
  EXPECT_EQ(ParseLogLevel("warning").value(), LogLevel::kWarning);
  ASSERT_FALSE(ParseLogLevel("loud").has_value());
  EXPECT_NE(ParseLogLevel("loud").error().message.find("loud"), std::string::npos);
}

}  // namespace
}  // namespace weft
