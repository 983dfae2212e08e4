#include "base/regular_file.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/temporary_directory.h"

namespace weft {
namespace {

std::string ErrorOf(const std::string& path) {
  const Result<std::string> read = ReadFile(path, 100);
  return read ? "read: " + *read : read.error().message;
}

TEST(RegularFile, IsReadUpToALimit) {
  const TemporaryDirectory directory;
  EXPECT_EQ(ErrorOf(directory.Write("a", "hello")), "read: hello");
  EXPECT_EQ(ErrorOf(directory.Write("b", "")), "read: ");
  EXPECT_EQ(ErrorOf(directory.Write("c", std::string(100, 'x'))), "read: " + std::string(100, 'x'));
  EXPECT_EQ(ErrorOf(directory.Write("d", std::string(101, 'x'))),
            directory.path() + "/d: has 101 bytes, expected at most 100");
  const std::string large(3'000'000, 'x');
  EXPECT_EQ(ReadFile(directory.Write("e", large), large.size()).value(), large);
}

TEST(RegularFile, TheKernelsFilesHaveNoSizeAndAreReadAllTheSame) {
  const Result<std::string> read = ReadFile("/proc/self/status", 1 << 20);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->substr(0, 5), "Name:");
  const Result<std::string> refused = ReadFile("/proc/self/status", 10);
  ASSERT_FALSE(refused);
}

// Without a writer, a pipe would be waited for forever.
TEST(RegularFile, EverythingElseIsRefusedByItsKindAndAtOnce) {
  const TemporaryDirectory directory;
  const std::string pipe = directory.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ErrorOf(pipe), pipe + ": is a named pipe, expected a regular file");
  EXPECT_EQ(ErrorOf("/dev/zero"), "/dev/zero: is a device, expected a regular file");
  EXPECT_EQ(ErrorOf(directory.path()),
            directory.path() + ": is a directory, expected a regular file");
  EXPECT_EQ(ErrorOf(directory.path() + "/absent"),
            directory.path() + "/absent: cannot open: No such file or directory");
}

TEST(RegularFile, WhatIsAbsentIsToldFromWhatCannotBeRead) {
  const TemporaryDirectory directory;
  EXPECT_EQ(ReadFileIfPresent(directory.path() + "/absent", 100).value(), std::nullopt);
  EXPECT_EQ(ReadFileIfPresent(directory.Write("a", "hello"), 100).value(), "hello");
  EXPECT_FALSE(ReadFileIfPresent(directory.path(), 100));
  EXPECT_FALSE(ReadFileIfPresent(directory.path() + "/a/below", 100));
  EXPECT_FALSE(ReadFileIfPresent(directory.path() + '/' + std::string(5000, 'x'), 100));
}

TEST(RegularFile, KnowsThatItHasChanged) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write("a", "hello");
  const Result<RegularFile> file = RegularFile::Open(path);
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->CheckUnchanged());
  std::ofstream(path, std::ios::app) << "!";
  const Result<void> checked = file->CheckUnchanged();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            path + ": had 5 bytes when it was opened, and 6 while it was read");
}

}  // namespace
}  // namespace weft
