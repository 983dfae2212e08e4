#include "server/commands/chat/chat_reply.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::HasSubstr;

class ChatReplyTest : public testing::Test {
 protected:
  Result<void> Take(std::string_view data) {
    return reply_.Take(data, [this](ChatReply::Part part, std::string_view text) {
      shown_ += part == ChatReply::Part::kReasoning ? '~' : '=';
      shown_ += text;
    });
  }

  ChatReply reply_;
  std::string shown_;
};

TEST_F(ChatReplyTest, PutsTogetherWhatComes) {
  for (const char* data : {
           R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})",
           R"({"choices":[{"delta":{"reasoning_content":"Hm"}}]})",
           R"({"choices":[{"delta":{"content":"Yes"}}]})",
           R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f"}}]}}]})",
           R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},
               "finish_reason":"tool_calls"}]})",
           R"({"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":3}})",
           "[DONE]",
       }) {
    EXPECT_TRUE(Take(data)) << data;
  }
  EXPECT_EQ(shown_, "~Hm=Yes");
  EXPECT_EQ(reply_.content(), "Yes");
  ASSERT_EQ(reply_.calls().size(), 1U);
  EXPECT_EQ(reply_.calls().at(0).name, "f");
  EXPECT_EQ(reply_.calls().at(0).arguments, "{}");
  EXPECT_EQ(reply_.finish_reason(), "tool_calls");
}

TEST_F(ChatReplyTest, AServersErrorIsItsMessage) {
  const Result<void> taken = Take(R"({"error":{"message":"too long","code":"x"}})");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().message, "too long");
}

// Whatever a server of another kind sends is an error or nothing, never a crash.
TEST_F(ChatReplyTest, WhatIsNoChunkIsRefusedOrLeftOut) {
  for (const char* data : {"", "[]", "7", "{", "\"text\""}) {
    const Result<void> taken = Take(data);
    ASSERT_FALSE(taken) << data;
    EXPECT_THAT(taken.error().message, HasSubstr("no object"));
  }
  for (const char* data :
       {"{}", R"({"choices":7})", R"({"choices":[7]})", R"({"choices":[{"delta":[]}]})",
        R"({"choices":[{"delta":{"content":7,"tool_calls":{"a":1}}}]})",
        R"({"choices":[{"delta":{"tool_calls":[7,{"function":7}]}}],"usage":[]})"}) {
    EXPECT_TRUE(Take(data)) << data;
  }
  EXPECT_EQ(shown_, "");
}

TEST(ErrorMessageOf, FindsTheMessage) {
  EXPECT_EQ(ErrorMessageOf(R"({"error":{"message":"no"}})"), "no");
  EXPECT_EQ(ErrorMessageOf(R"({"error":"no"})"), "no");
  EXPECT_EQ(ErrorMessageOf("<html>"), "'<html>'");
}

}  // namespace
}  // namespace weft
