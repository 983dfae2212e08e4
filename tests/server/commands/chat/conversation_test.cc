#include "server/commands/chat/conversation.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

std::string Messages(const Conversation& conversation) {
  std::string text;
  const ordered_json body = conversation.Body("m");
  for (const ordered_json& message : body["messages"]) {
    text += message["role"].get<std::string>().substr(0, 1) + ":" +
            message["content"].get<std::string>() + " ";
  }
  return text;
}

TEST(Conversation, KeepsWhatIsSaidInOrder) {
  Conversation it;
  EXPECT_TRUE(it.empty());
  EXPECT_FALSE(it.DropAnswer());
  EXPECT_FALSE(it.DropQuestion());
  it.AddQuestion("one");
  it.AddAnswer("1");
  it.AddQuestion("two");
  it.AddAnswer("2");
  it.SetSystem("brief");
  EXPECT_EQ(Messages(it), "s:brief u:one a:1 u:two a:2 ");
  EXPECT_TRUE(it.DropAnswer());
  EXPECT_FALSE(it.DropAnswer());
  EXPECT_EQ(Messages(it), "s:brief u:one a:1 u:two ");
  EXPECT_TRUE(it.DropQuestion());
  EXPECT_TRUE(it.DropQuestion());
  EXPECT_FALSE(it.DropQuestion());
  EXPECT_EQ(Messages(it), "s:brief ");
}

TEST(Conversation, SettingsAreFieldsOfTheRequest) {
  Conversation it;
  ASSERT_TRUE(it.Set("temperature", "0.5"));
  ASSERT_TRUE(it.Set("stop", "END"));
  ASSERT_TRUE(it.Set("reasoning", "off"));
  ordered_json body = it.Body("m");
  EXPECT_EQ(body["model"], "m");
  EXPECT_EQ(body["stream"], true);
  EXPECT_EQ(body["temperature"], 0.5);
  EXPECT_EQ(body["stop"], "END");
  EXPECT_EQ(body["chat_template_kwargs"]["enable_thinking"], false);
  ASSERT_TRUE(it.Set("temperature", ""));
  ASSERT_TRUE(it.Set("reasoning", "auto"));
  body = it.Body("m");
  EXPECT_FALSE(body.contains("temperature"));
  EXPECT_FALSE(body.contains("chat_template_kwargs"));
  EXPECT_THAT(it.Set("tempo", "1").error().message, HasSubstr("temperature"));
  EXPECT_THAT(it.Set("messages", "[]").error().message, HasSubstr("'messages'"));
  EXPECT_THAT(it.Set("reasoning", "yes").error().message, HasSubstr("'yes'"));
}

TEST(Conversation, GoesOnFromWhatWasSaved) {
  Conversation it;
  it.SetSystem("brief");
  it.AddQuestion("one");
  it.AddAnswer("1");
  ASSERT_TRUE(it.Set("top_p", "0.9"));
  ASSERT_TRUE(it.Set("reasoning", "on"));
  Conversation other;
  other.AddQuestion("something else");
  ASSERT_TRUE(other.Load(it.ToJson()));
  EXPECT_EQ(other.Body("m"), it.Body("m"));
}

TEST(Conversation, WhatIsNoConversationChangesNothing) {
  Conversation it;
  it.AddQuestion("one");
  for (const char* text :
       {"", "[]", R"({"messages":7})", R"({"messages":[7]})", R"({"messages":[{"role":"user"}]})",
        R"({"messages":[{"role":"user","content":["a"]}]})",
        R"({"messages":[{"role":"tool","content":"a"}]})",
        R"({"messages":[{"role":"user","content":"a"},{"role":"system","content":"a"}]})",
        R"({"messages":[],"settings":{"messages":[]}})"}) {
    EXPECT_FALSE(it.Load(text)) << text;
  }
  EXPECT_EQ(Messages(it), "u:one ");
}

}  // namespace
}  // namespace weft
