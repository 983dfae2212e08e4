// Lines of the log, and text as JSON strings.
#include "base/log.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace weft {
namespace {

using nlohmann::json;

const std::string kReplacement = "\xef\xbf\xbd";

std::string JsonOf(std::string_view text) {
  std::string written;
  AppendJsonString(text, written);
  return written;
}

// What a strict parser makes of it.
std::string ReadBack(std::string_view text) { return json::parse(JsonOf(text)).get<std::string>(); }

TEST(JsonText, KeepsTextAndEscapesWhatJsonMust) {
  EXPECT_EQ(JsonOf(""), "\"\"");
  EXPECT_EQ(JsonOf("a/b é 😀"), "\"a/b é 😀\"");
  EXPECT_EQ(JsonOf("\"\\\n\x7f"), R"("\"\\\u000a\u007f")");
  for (int byte = 0; byte < 0x80; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    EXPECT_EQ(ReadBack(text), text) << byte;
  }
}

TEST(JsonText, ReplacesWhatIsInNoCharacter) {
  EXPECT_EQ(ReadBack("a\xff"), "a" + kReplacement);
  EXPECT_EQ(ReadBack("\xc3"), kReplacement);         // ends too early
  EXPECT_EQ(ReadBack("\xc3("), kReplacement + "(");  // goes on wrongly
  EXPECT_EQ(ReadBack("\xe2\x82"), kReplacement);
  EXPECT_EQ(ReadBack("\xc0\x80"), kReplacement + kReplacement);  // overlong
  EXPECT_EQ(ReadBack("\xe0\x9f\xbf"), kReplacement + kReplacement + kReplacement);
  EXPECT_EQ(ReadBack("\xed\xa0\x80"), kReplacement + kReplacement + kReplacement);  // a surrogate
  EXPECT_EQ(ReadBack("\xf4\x90\x80\x80").size(), 4 * kReplacement.size());  // above U+10FFFF
  EXPECT_EQ(ReadBack("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"),
            "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf");
}

// All strings of three bytes that begin a character, and some longer ones: nlohmann's parser
// refuses what is not UTF-8.
TEST(JsonText, AnyBytesAreOneLineOfValidJson) {
  uint32_t state = 1;
  for (int round = 0; round < 200'000; ++round) {
    std::string bytes;
    for (uint32_t i = 0; i < 1 + round % 6U; ++i) {
      state = state * 1664525 + 1013904223;
      // Mostly bytes from 0x80 on, of which characters are made.
      bytes += static_cast<char>((state >> 24) | (round % 3 == 0 ? 0 : 0x80));
    }
    const std::string written = JsonOf(bytes);
    ASSERT_TRUE(json::accept(written)) << written;
    ASSERT_EQ(written.find('\n'), std::string::npos);
  }
}

TEST(Log, TextNamesEachValue) {
  const std::array fields = {LogField{"path", "/v1/models?a=b"}, LogField{"status", 200},
                             LogField{"duration_ms", 1.25}, LogField{"empty", ""},
                             LogField{"forged", "x y\n\"\xff"}};
  EXPECT_EQ(FormatLogText("request", fields),
            "request path=/v1/models?a=b status=200 duration_ms=1.250 empty=\"\" "
            "forged=\"x y\\u000a\\\"" +
                kReplacement + "\"");
  EXPECT_EQ(FormatLogText("no fields at all", {}), "no fields at all");
}

TEST(Log, JsonHasAMemberAValue) {
  const std::array fields = {LogField{"path", "/\"\n"}, LogField{"tokens", int64_t{1} << 60},
                             LogField{"duration_ms", 1.25},
                             LogField{"ratio", std::numeric_limits<double>::quiet_NaN()}};
  const json line = json::parse("{" + FormatLogJson("it's \"said\"", fields) + "}");
  EXPECT_EQ(line, json({{"message", "it's \"said\""},
                        {"path", "/\"\n"},
                        {"tokens", int64_t{1} << 60},
                        {"duration_ms", 1.25},
                        {"ratio", nullptr}}));
}

TEST(Log, LinesHaveTimeAndLevel) {
  const std::array fields = {LogField{"count", 3}};
  SetLogFormat(LogFormat::kJson);
  testing::internal::CaptureStderr();
  LogLine(LogLevel::kWarning, "said", fields);
  LogLine(LogLevel::kDebug, "not said");
  const std::string written = testing::internal::GetCapturedStderr();
  SetLogFormat(LogFormat::kText);
  testing::internal::CaptureStderr();
  LogLine(LogLevel::kWarning, "said", fields);
  const std::string text = testing::internal::GetCapturedStderr();

  EXPECT_EQ(written.find('\n'), written.size() - 1);
  const json line = json::parse(written);
  EXPECT_EQ(line.at("level"), "warning");
  EXPECT_EQ(line.at("message"), "said");
  EXPECT_EQ(line.at("count"), 3);
  EXPECT_EQ(line.size(), 4);
  EXPECT_THAT(
      line.at("timestamp").get<std::string>(),
      testing::MatchesRegex(R"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z)"));
  EXPECT_THAT(text, testing::MatchesRegex(
                        R"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3})"
                        "[+-][0-9]{2}:[0-9]{2} warning said count=3\n"));
}

TEST(Log, AThreadKeepsTheOrder) {
  const auto lines_with = [](bool has_thread) {
    testing::internal::CaptureStderr();
    {
      std::optional<LogThread> thread;
      if (has_thread) thread.emplace();
      for (int i = 0; i < 100; ++i) PrintError(std::to_string(i));
      EXPECT_TRUE(FlushLog(std::chrono::minutes(1)));
      PrintError("last");
    }
    PrintError("after it");
    return testing::internal::GetCapturedStderr();
  };
  const std::string lines = lines_with(true);
  EXPECT_EQ(lines, lines_with(false));
  EXPECT_EQ(lines.substr(0, 6), "0\n1\n2\n");
  EXPECT_THAT(lines, testing::EndsWith("99\nlast\nafter it\n"));
  EXPECT_EQ(LogLinesDropped(), 0U);
}

}  // namespace
}  // namespace weft
