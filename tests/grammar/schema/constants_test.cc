#include "grammar/schema/constants.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(ConstantsTest, EqualValuesAreOne) {
  Constants constants;
  for (const std::vector<std::string>& equal : std::vector<std::vector<std::string>>{
           {"1", "1.0", "1e0", "10e-1", "0.1E+1", " 1 "},
           {"0", "-0", "0.0", "0e7"},
           {"1e400", "10e399"},
           {R"("a")", R"("\u0061")"},
           {R"("😀")", R"("\ud83d\uDE00")"},
           {"[1,[]]", "[ 1.0 , [ ] ]"},
           {R"({"a":1,"b":{}})", R"({ "b" : { } , "\u0061" : 1.0 })"},
       }) {
    for (const std::string& text : equal) {
      ASSERT_TRUE(constants.Parse(text)) << text;
      EXPECT_EQ(*constants.Parse(text), *constants.Parse(equal[0])) << text;
    }
  }
}

TEST(ConstantsTest, OthersAreNot) {
  Constants constants;
  const std::vector<std::string> all = {
      "null",       "true",         "false",        "0",
      "1",          "-1",           "10",           R"("")",
      R"("1")",     R"("null")",    "[]",           "[1]",
      "[[1]]",      "[1,1]",        "[1,[1]]",      "{}",
      R"({"a":1})", R"({"a":[1]})", R"({"1":"a"})", R"({"a":1,"b":1})",
      R"({"b":1})", R"(["a,b"])",   R"(["a","b"])"};
  for (const std::string& a : all) {
    for (const std::string& b : all) {
      ASSERT_TRUE(constants.Parse(a)) << a;
      EXPECT_EQ(*constants.Parse(a) == *constants.Parse(b), a == b) << a << " " << b;
    }
  }
}

TEST(ConstantsTest, NoValues) {
  Constants constants;
  for (const std::string text : {"",
                                 " ",
                                 "nul",
                                 "1.",
                                 "01",
                                 "[1,]",
                                 "[",
                                 "]",
                                 "[1",
                                 "{\"a\"}",
                                 "{\"a\":}",
                                 "{\"a\":1,}",
                                 "{1:1}",
                                 "1 2",
                                 "\"",
                                 "\"\\ud83d\"",
                                 "\"\\x\"",
                                 "\"\n\"",
                                 "\"\xFF\"",
                                 R"({"a":1,"\u0061":2})",
                                 "1e9999999999",
                                 "[1}",
                                 "{\"a\":1]",
                                 ",",
                                 "\"a\\"}) {
    EXPECT_FALSE(constants.Parse(text)) << text;
  }
}

TEST(ConstantsTest, DeepValuesTakeNoStack) {
  Constants constants;
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_TRUE(constants.Parse(deep));
}

TEST(ConstantsTest, OfValues) {
  Constants constants;
  const auto value = nlohmann::ordered_json::parse(R"([1.0, {"é": null}])");
  EXPECT_EQ(constants.Of(value), *constants.Parse(R"([1, {"\u00e9": null}])"));
  const Constant& object = constants[constants[constants.Of(value)].items[1]];
  ASSERT_EQ(object.members.size(), 1);
  EXPECT_EQ(constants.name(object.members[0].first), "é");
}

}  // namespace
}  // namespace weft
