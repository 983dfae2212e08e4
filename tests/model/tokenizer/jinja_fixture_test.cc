// Templates of every construct, and random ones: what Jinja2, set up as transformers does, makes of
// them (tests/tools/make_jinja_fixtures.py).
#include <ctime>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/tokenizer/chat_template.h"
#include "tests/data_paths.h"

namespace weft {
namespace {

constexpr size_t kFewestCases = 500;

ChatTemplate::Options AtFixtureTime() {
  ChatTemplate::Options options;
  options.now = std::tm{};
  options.now->tm_year = 126;
  options.now->tm_mon = 10;
  options.now->tm_mday = 21;
  options.now->tm_hour = 12;
  options.now->tm_wday = 6;
  options.now->tm_yday = 324;
  return options;
}

Result<std::string> ParseAndRender(const std::string& source,
                                   const nlohmann::ordered_json& variables) {
  WEFT_ASSIGN_OR_RETURN(const ChatTemplate parsed, ChatTemplate::Parse(source));
  return parsed.Render(variables, AtFixtureTime());
}

class JinjaFixture : public testing::TestWithParam<std::string> {};

TEST_P(JinjaFixture, EqualsJinja2) {
  std::ifstream file(SourcePath("tests/model/tokenizer/fixtures/jinja/") + GetParam());
  ASSERT_TRUE(file);
  const auto fixture = nlohmann::ordered_json::parse(file);
  ASSERT_GT(fixture.at("cases").size(), kFewestCases);
  for (const auto& test_case : fixture.at("cases")) {
    const std::string source = test_case.at(0);
    SCOPED_TRACE(source);
    const auto text = ParseAndRender(source, fixture.at("variables"));
    if (test_case.at(1).is_string()) {
      ASSERT_TRUE(text) << text.error().message;
      EXPECT_EQ(*text, test_case.at(1));
    } else if (test_case.size() == 3) {
      ASSERT_FALSE(text) << *text;
      EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
      EXPECT_EQ(text.error().message, test_case.at(2));
    } else {
      ASSERT_FALSE(text) << *text;
      EXPECT_NE(text.error().code, ErrorCode::kInvalidArgument);
      EXPECT_NE(text.error().message.find("line "), std::string::npos) << text.error().message;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, JinjaFixture, testing::Values("constructs.json", "random.json"));

}  // namespace
}  // namespace weft
