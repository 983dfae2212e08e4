#include "proto/event_stream.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::ElementsAre;

std::vector<std::string> Events(std::string_view bytes, size_t piece) {
  EventStream stream;
  std::vector<std::string> events;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    // Memory that is gone afterwards, so that the sanitizers see what is kept of it.
    const std::string fed(bytes.substr(at, piece));
    stream.Feed(fed);
    for (std::string_view data; stream.Next(data);) events.emplace_back(data);
  }
  return events;
}

TEST(EventStream, GivesWholeEventsHoweverTheBytesAreCut) {
  const std::string bytes =
      ": comment\nevent: x\ndata: one\n\ndata:two\r\ndata: three\rdata: four\r\n\r\n\n\rdata\r\r"
      "data: five\r\n\r\ndata: six\n\nretry: 1\n\n";
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_THAT(Events(bytes, piece), ElementsAre("one", "two\nthree\nfour", "", "five", "six"))
        << "in pieces of " << piece;
  }
}

TEST(EventStream, GivesAnEventOutWhenItsLastByteHasCome) {
  for (const char* event : {"data: x\n\n", "data: x\r\r", "data: x\r\n\r"}) {
    EventStream stream;
    stream.Feed(event);
    std::string_view data;
    ASSERT_TRUE(stream.Next(data)) << event;
    EXPECT_EQ(data, "x");
    EXPECT_FALSE(stream.Next(data));
    EXPECT_EQ(stream.pending_bytes(), 0u) << event;
  }
}

TEST(EventStream, HoldsBackWhatHasNotEnded) {
  EventStream stream;
  stream.Feed("data: one\n");
  std::string_view data;
  EXPECT_FALSE(stream.Next(data));
  EXPECT_EQ(stream.pending_bytes(), 3u);
  stream.Feed("\n");
  ASSERT_TRUE(stream.Next(data));
  EXPECT_EQ(data, "one");
  EXPECT_FALSE(stream.Next(data));
  EXPECT_EQ(stream.pending_bytes(), 0u);
}

// It would take minutes to look at all of it again for every byte.
TEST(EventStream, ReadsALongEventInTinyPieces) {
  EventStream stream;
  std::string_view data;
  const std::string line = "data: " + std::string(1000, 'x') + "\n";
  constexpr size_t kLines = 4000;
  for (size_t i = 0; i < kLines; ++i) {
    for (const char& byte : line) {
      stream.Feed({&byte, 1});
      ASSERT_FALSE(stream.Next(data));
    }
  }
  EXPECT_EQ(stream.pending_bytes(), kLines * 1001 - 1);
  stream.Feed("\n");
  ASSERT_TRUE(stream.Next(data));
  EXPECT_EQ(data.size(), kLines * 1001 - 1);
}

}  // namespace
}  // namespace weft
