// The log where memory is refused: nothing is thrown, nothing ends, and what is lost is counted. A
// binary of its own, because it replaces operator new for all of it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <new>
#include <optional>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/line_writer.h"
#include "base/log.h"

namespace {

std::atomic<bool> is_refusing{false};

}  // namespace

void* operator new(size_t size) {
  void* const memory = is_refusing ? nullptr : std::malloc(std::max<size_t>(size, 1));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace weft {
namespace {

constexpr std::chrono::minutes kDeadline{1};
constexpr int kPipeBytes = 4096;

std::string Notice(uint64_t count) {
  return "there is no memory for so many lines of the log: " + std::to_string(count) + "\n";
}

TEST(OutOfMemoryTest, LinesThatWaitAreWrittenAndNoticesAreNot) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes), kPipeBytes);
  const std::string filler = std::string(kPipeBytes - 1, 'x') + "\n";
  LineWriter writer(ends[1], 3 * kPipeBytes, Notice);
  writer.Start();
  writer.Add(filler);
  ASSERT_TRUE(writer.Flush(kDeadline));
  writer.Add(filler);
  writer.Add(filler + filler + filler);  // no room
  is_refusing = true;
  char bytes[kPipeBytes];
  for (int round = 0; round < 2; ++round) {
    int count = 0;
    while (count < kPipeBytes) {
      const auto read_count = read(ends[0], bytes, static_cast<size_t>(kPipeBytes - count));
      if (read_count <= 0) break;
      count += static_cast<int>(read_count);
    }
    EXPECT_EQ(count, kPipeBytes);
  }
  const bool is_flushed = writer.Flush(kDeadline);
  is_refusing = false;
  EXPECT_TRUE(is_flushed);
  EXPECT_EQ(writer.lost_count(), 1U);
  writer.Add("again\n");
  EXPECT_TRUE(writer.Stop(kDeadline));
  EXPECT_EQ(read(ends[0], bytes, sizeof bytes), 6);
  close(ends[0]);
  close(ends[1]);
}

TEST(OutOfMemoryTest, LoggingThrowsNothing) {
  const std::string text(1000, 'x');
  for (const bool has_thread : {false, true}) {
    const uint64_t lost_count = LogLinesDropped();
    testing::internal::CaptureStderr();
    {
      std::optional<LogThread> thread;
      if (has_thread) thread.emplace();
      is_refusing = true;
      constexpr int kCount = 100;  // more than a part of the writer's queue holds
      for (int i = 0; i < kCount; ++i) {
        LogLine(LogLevel::kError, text);
        Log(LogLevel::kError, "{} and {}", text, i);
        PrintError(text);
      }
      is_refusing = false;
      EXPECT_EQ(LogLinesDropped() - lost_count, 3 * kCount);
      PrintError("there is memory again");
    }
    const std::string lines = testing::internal::GetCapturedStderr();
    EXPECT_NE(lines.find("there is memory again\n"), std::string::npos);
    EXPECT_EQ(lines.find("xxx"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft
