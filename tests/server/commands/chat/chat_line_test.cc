#include "server/commands/chat/chat_line.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/commands/chat/terminal_text.h"

namespace weft {
namespace {

using testing::HasSubstr;

TEST(ChatLine, IsSaidOrObeyed) {
  EXPECT_EQ(ParseChatLine("a /help")->text, "a /help");
  EXPECT_EQ(ParseChatLine("//etc")->text, "/etc");
  EXPECT_EQ(ParseChatLine("//etc")->verb, ChatVerb::kSay);
  EXPECT_EQ(ParseChatLine("/help")->verb, ChatVerb::kHelp);
  const Result<ChatLine> set = ParseChatLine("/set  top_p 0.5 ");
  EXPECT_EQ(set->verb, ChatVerb::kSet);
  EXPECT_EQ(set->text, "top_p 0.5");
  EXPECT_EQ(ParseChatLine("/system be\nbrief")->text, "be\nbrief");
  EXPECT_THAT(ParseChatLine("/etc/passwd").error().message, HasSubstr("/etc/passwd"));
  EXPECT_THAT(ParseChatLine("/").error().message, HasSubstr("/help"));
}

// The message that the lines come to; "...": it is not whole.
std::string MessageOf(const std::vector<std::string>& lines) {
  MessageLines message;
  for (const std::string& line : lines) {
    if (message.Add(line)) return message.Take();
  }
  return "...";
}

TEST(MessageLines, GoOnBehindABackslashAndBetweenQuotes) {
  EXPECT_EQ(MessageOf({"one"}), "one");
  EXPECT_EQ(MessageOf({""}), "");
  EXPECT_EQ(MessageOf({"one\\", "two"}), "one\ntwo");
  EXPECT_EQ(MessageOf({"one\\"}), "...");
  EXPECT_EQ(MessageOf({R"("""one)", "two\\", R"(three""")"}), "one\ntwo\\\nthree");
  EXPECT_EQ(MessageOf({R"("""one""")"}), "one");
  EXPECT_EQ(MessageOf({R"(""")", "one", R"(""")"}), "\none\n");
  MessageLines message;
  EXPECT_FALSE(message.Add(R"("""one)"));
  EXPECT_EQ(message.Take(), "one");
  EXPECT_TRUE(message.Add("two"));
  EXPECT_EQ(message.Take(), "two");
}

std::string Shown(const std::string& text, size_t piece) {
  TerminalText terminal;
  std::string shown;
  for (size_t at = 0; at < text.size(); at += piece)
    shown += terminal.Append(text.substr(at, piece));
  return shown + terminal.Finish();
}

TEST(TerminalText, ShowsNoCommands) {
  const std::string text = "a\tb\n\u00e4\U0001F600\x1b[2J\r\u009b1m\u202e\u2066\x7f.\xff\xc3";
  const std::string mark = "\uFFFD";
  const std::string shown = "a\tb\n\u00e4\U0001F600" + mark + "[2J" + mark + mark + "1m" + mark +
                            mark + mark + "." + mark + mark;
  for (size_t piece = 1; piece <= text.size(); ++piece) EXPECT_EQ(Shown(text, piece), shown);
}

}  // namespace
}  // namespace weft
