// Lines that a pipe does not take: nobody waits for it, and what is lost is counted.
#include "base/line_writer.h"

#include <csignal>
#include <fcntl.h>
#include <future>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

// Longer than anything here takes, so that what hangs fails.
constexpr seconds kDeadline{60};
constexpr size_t kPipeBytes = 4096;

class Pipe {
 public:
  Pipe() {
    std::signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ(pipe(ends_), 0);
    EXPECT_EQ(fcntl(ends_[1], F_SETPIPE_SZ, kPipeBytes), kPipeBytes);
  }
  ~Pipe() {
    CloseReader();
    close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int writer() const { return ends_[1]; }
  void CloseReader() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }
  // One line, without its line feed.
  std::string ReadLine() const {
    std::string line;
    char byte = 0;
    while (read(ends_[0], &byte, 1) == 1 && byte != '\n') line += byte;
    return line;
  }

 private:
  int ends_[2] = {-1, -1};
};

std::string Notice(uint64_t count) { return "lost " + std::to_string(count) + "\n"; }

// A line that fills a pipe by itself: the next one waits.
std::string Filler() { return std::string(kPipeBytes - 1, 'x') + "\n"; }

TEST(LineWriterTest, WithoutAThreadALineIsThereAtOnce) {
  const Pipe pipe;
  LineWriter writer(pipe.writer(), 1000, Notice);
  writer.Add("one\n");
  EXPECT_EQ(pipe.ReadLine(), "one");
  EXPECT_TRUE(writer.Flush(milliseconds(0)));
}

TEST(LineWriterTest, LinesComeInTheirOrder) {
  const Pipe pipe;
  LineWriter writer(pipe.writer(), 100'000, Notice);
  writer.Add("0\n");
  writer.Start();
  for (int i = 1; i < 100; ++i) writer.Add(std::to_string(i) + "\n");
  EXPECT_TRUE(writer.Stop(kDeadline));
  writer.Add("100\n");
  for (int i = 0; i <= 100; ++i) ASSERT_EQ(pipe.ReadLine(), std::to_string(i));
  EXPECT_EQ(writer.lost_count(), 0U);
}

TEST(LineWriterTest, NobodyWaitsForAFullPipeAndWhatIsLostIsCounted) {
  Pipe pipe;
  LineWriter writer(pipe.writer(), 100'000, Notice);
  writer.Start();
  writer.Add(Filler());
  ASSERT_TRUE(writer.Flush(kDeadline));
  constexpr uint64_t kCount = 100'000;
  const auto added = std::async(std::launch::async, [&] {
    for (uint64_t i = 0; i < kCount; ++i) writer.Add(std::to_string(i) + "\n");
  });
  const bool is_added = added.wait_for(kDeadline) == std::future_status::ready;
  EXPECT_TRUE(is_added);
  if (!is_added) pipe.CloseReader();  // so that the test ends
  EXPECT_FALSE(writer.Flush(milliseconds(1)));
  EXPECT_FALSE(writer.Stop(milliseconds(1)));

  const uint64_t lost_count = writer.lost_count();
  EXPECT_GT(lost_count, 0U);
  EXPECT_EQ(pipe.ReadLine() + "\n", Filler());
  for (uint64_t i = 0; i < kCount - lost_count; ++i) {
    ASSERT_EQ(pipe.ReadLine(), std::to_string(i));
  }
  EXPECT_EQ(pipe.ReadLine() + "\n", Notice(lost_count));
  // There is room again.
  EXPECT_TRUE(writer.Flush(kDeadline));
  writer.Add("again\n");
  EXPECT_EQ(pipe.ReadLine(), "again");
  EXPECT_TRUE(writer.Stop(kDeadline));
  EXPECT_EQ(writer.lost_count(), lost_count);
}

TEST(LineWriterTest, ANoticeStandsWhereTheLinesAreMissing) {
  const Pipe pipe;
  LineWriter writer(pipe.writer(), 2 * kPipeBytes, Notice);
  writer.Start();
  writer.Add(Filler());
  ASSERT_TRUE(writer.Flush(kDeadline));
  writer.Add("before\n");
  for (int i = 0; i < 3; ++i) writer.Add(std::string(2 * kPipeBytes, 'x') + "\n");  // never fit
  writer.Add(Filler());  // would fit, but more than half would be taken then
  writer.Add("after\n");
  writer.Add(std::string(2 * kPipeBytes, 'x') + "\n");
  EXPECT_EQ(pipe.ReadLine() + "\n", Filler());
  std::vector<std::string> lines(4);
  for (std::string& line : lines) line = pipe.ReadLine();
  EXPECT_THAT(lines, ElementsAre("before", "lost 4", "after", "lost 1"));
  EXPECT_EQ(writer.lost_count(), 5U);
}

TEST(LineWriterTest, ReaderThatHasGone) {
  Pipe pipe;
  LineWriter writer(pipe.writer(), 100'000, Notice);
  writer.Start();
  pipe.CloseReader();
  for (int i = 0; i < 10; ++i) writer.Add("line\n");
  EXPECT_TRUE(writer.Stop(kDeadline));
  EXPECT_EQ(writer.lost_count(), 10U);
}

TEST(LineWriterTest, AFileThatDoesNotBlockIsWaitedFor) {
  const Pipe pipe;
  LineWriter writer(pipe.writer(), 100'000, Notice);
  ASSERT_EQ(fcntl(pipe.writer(), F_SETFL, O_NONBLOCK), 0);
  writer.Start();
  for (int i = 0; i < 10; ++i) writer.Add(Filler());
  for (int i = 0; i < 10; ++i) ASSERT_EQ(pipe.ReadLine() + "\n", Filler());
  EXPECT_TRUE(writer.Stop(kDeadline));
  EXPECT_EQ(writer.lost_count(), 0U);
}

}  // namespace
}  // namespace weft
