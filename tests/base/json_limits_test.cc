// The count is never less than the values that a parser makes of the text, and stops in time.
#include "base/json_limits.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

std::string Check(const std::string& text, const JsonLimits& limits) {
  const Result<void> checked = CheckJsonLimits(text, limits, "x.json");
  return checked ? "" : checked.error().message;
}

std::string Repeated(const std::string& part, int count) {
  std::string text = "[" + part;
  for (int i = 1; i < count; ++i) text += "," + part;
  return text + "]";
}

int64_t CountValues(const nlohmann::json& json) {
  int64_t count = 1;
  if (json.is_structured()) {
    for (const nlohmann::json& each : json) count += CountValues(each);
  }
  return count;
}

TEST(JsonLimitsTest, ValuesAreCountedWhateverTheyAre) {
  for (const std::string part : {"{}", "[]", "0", "\"\"", "null", "{\"a\":1}", "\",,[[{{\"",
                                 "\"\\\"[,\"", "\"\\\\\"", "[[],{}]", "{\"a,[\":{\"b\":[1,2]}}"}) {
    const std::string text = Repeated(part, 1000);
    const int64_t count = CountValues(nlohmann::json::parse(text));
    EXPECT_NE(Check(text, {text.size(), count - 1, 64}), "") << part;
    EXPECT_EQ(Check(text, {text.size(), 2 * count, 64}), "") << part;
  }
}

TEST(JsonLimitsTest, RefusalsSayWhere) {
  EXPECT_EQ(Check("[0,1,2,3]", {100, 4, 64}),
            "x.json: more than 4 values, the last one at its byte 6");
  EXPECT_EQ(Check("[0,1,2]", {100, 5, 64}), "");
  EXPECT_EQ(Check("[[[0]]]", {100, 100, 2}), "x.json: nested more than 2 deep at its byte 2");
  EXPECT_EQ(Check("[[0],[0],[{}]]", {100, 100, 3}), "");
  EXPECT_EQ(Check("[0,1]", {4, 100, 64}), "x.json: has 5 bytes, expected at most 4");
}

TEST(JsonLimitsTest, TextThatIsCutIsLeftToTheParser) {
  for (const std::string text : {"", "\"", "\"\\", "[\"a", "]]]]", "{"}) {
    EXPECT_EQ(Check(text, {100, 4, 64}), "") << text;
  }
}

}  // namespace
}  // namespace weft
