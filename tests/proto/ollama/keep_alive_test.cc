#include "proto/ollama/keep_alive.h"

#include <string_view>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(KeepAliveTest, DurationsAsGoWritesThemAndSeconds) {
  const struct {
    std::string_view text;
    int64_t milliseconds;
  } cases[] = {
      {"5m", 300'000},
      {"1h30m", 5'400'000},
      {"90s", 90'000},
      {"1.5s", 1500},
      {"250ms", 250},
      {"300", 300'000},
      {"0", 0},
      {"0s", 0},
      {"-0", 0},
      {"+2s", 2000},
      {"1s500ms", 1500},
      {"-1", -1},
      {"-5m", -1},
      {"1\u00B5s", 0},
      {"9999999h", 3'162'240'000'000},
  };
  for (const auto& [text, milliseconds] : cases) {
    const auto parsed = ParseKeepAlive(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->count(), milliseconds) << text;
  }
}

TEST(KeepAliveTest, AnythingElseIsNone) {
  for (const std::string_view text :
       {"", "-", "soon", "5 m", "m", "5m3", "1d", "--1", "5m ", "nan", "inf", "0x10s"}) {
    EXPECT_FALSE(ParseKeepAlive(text)) << text;
  }
}

}  // namespace
}  // namespace weft
