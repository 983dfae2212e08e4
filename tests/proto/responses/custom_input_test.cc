#include "proto/responses/custom_input.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weft {
namespace {

// In pieces of `size` bytes.
std::string InputOf(std::string_view arguments, size_t size) {
  CustomInputReader reader;
  std::string text;
  for (size_t i = 0; i < arguments.size(); i += size)
    text += reader.Push(arguments.substr(i, size));
  return text + reader.Finish();
}

TEST(CustomInputTest, IsTheStringOfTheArguments) {
  struct Case {
    std::string_view arguments;
    std::string_view input;
  };
  constexpr Case kCases[] = {
      {R"({"input":"a b"})", "a b"},
      {"{ \"input\"\n: \"x\" }", "x"},
      {R"({"input":""})", ""},
      {R"({"input":"\"\\\/\b\f\n\r\t"})", "\"\\/\b\f\n\r\t"},
      {R"({"input":"\u00e9\ud83d\ude00\u0041"})",
       "\xC3\xA9\xF0\x9F\x98\x80"
       "A"},
      {R"({"input":"\ud83dx\ude00"})", "\xEF\xBF\xBDx\xEF\xBF\xBD"},
      {R"({"input":"é","more":1})", "é"},
      // Cut off.
      {R"({"input":"ab\)", "ab"},
      {R"({"input":"ab)", "ab"},
      // Anything else comes as it is.
      {R"({"text":"a"})", R"({"text":"a"})"},
      {R"({"input":5})", R"({"input":5})"},
      {R"({"in put":"a"})", R"({"in put":"a"})"},
      {R"({"inp)", R"({"inp)"},
      {"", ""},
  };
  for (const Case& each : kCases) {
    for (const size_t size : {1, 2, 3, 100}) {
      EXPECT_EQ(InputOf(each.arguments, size), each.input) << each.arguments << " by " << size;
    }
  }
}

}  // namespace
}  // namespace weft
