// What tool calls bring as JSON in strings: counted and bounded before it becomes a document.
#include "proto/call_arguments.h"

#include <string>

#include <gtest/gtest.h>

#include "proto/json_reader.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

ordered_json Call(std::string arguments) {
  return {{"type", "function"}, {"function", {{"name", "f"}, {"arguments", std::move(arguments)}}}};
}

// An object with a list of so many values: two more.
std::string Arguments(int64_t count) {
  std::string text = R"({"x":[)";
  for (int64_t i = 0; i < count; ++i) text += i > 0 ? ",[]" : "[]";
  return text + "]}";
}

ordered_json Messages(ordered_json calls) {
  return {{{"role", "user"}, {"content", "a"}},
          {{"role", "assistant"}, {"tool_calls", std::move(calls)}}};
}

ApiError Refused(const ordered_json& messages) {
  const ApiResult<void> checked = CheckCallArguments(messages, "messages");
  EXPECT_FALSE(checked);
  return checked ? ApiError() : checked.error();
}

TEST(CallArgumentsTest, CountsTheValuesOfAllCalls) {
  constexpr int64_t kHalf = kMaxJsonValues / 2;
  ordered_json messages =
      Messages({Call(Arguments(kHalf - 2)), Call("{}"), Call(Arguments(kHalf - 3))});
  EXPECT_TRUE(CheckCallArguments(messages, "messages"));
  messages.push_back(Messages({Call("[1,")}).back());
  const ApiError error = Refused(messages);
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.code, "too_many_values");
  EXPECT_EQ(error.param, "messages[2].tool_calls[0].function.arguments");
  EXPECT_EQ(error.message,
            "up to 'messages[2].tool_calls[0].function.arguments' the arguments of calls have more "
            "than 131072 JSON values; send fewer");
}

TEST(CallArgumentsTest, RefusesDeepNesting) {
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') +
           std::string(static_cast<size_t>(depth), ']');
  };
  EXPECT_TRUE(CheckCallArguments(Messages({Call(nested(kMaxJsonDepth))}), "messages"));
  const ApiError error = Refused(Messages({Call("{}"), Call(nested(kMaxJsonDepth + 1))}));
  EXPECT_EQ(error.code, "json_too_deep");
  EXPECT_EQ(error.param, "messages[1].tool_calls[1].function.arguments");
}

TEST(CallArgumentsTest, TakesWhatIsNoJson) {
  EXPECT_TRUE(CheckCallArguments(Messages({Call(""), Call("not JSON"), Call("{\"a\":")}), "input"));
}

}  // namespace
}  // namespace weft
