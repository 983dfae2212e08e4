#include "base/mapped_file.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/temporary_directory.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

std::string Text(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, ShowsTheBytesAndSurvivesAMove) {
  const TemporaryDirectory directory;
  Result<MappedFile> opened = MappedFile::Open(directory.Write("a", "hello"));
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  const std::byte* const memory = opened->bytes().data();
  const MappedFile moved = std::move(*opened);
  EXPECT_EQ(Text(moved), "hello");
  EXPECT_EQ(moved.bytes().data(), memory);
}

TEST(MappedFile, ReleasedPagesCanBeReadAgain) {
  const TemporaryDirectory directory;
  const std::string contents(100'000, 'x');
  const Result<MappedFile> file = MappedFile::Open(directory.Write("a", contents));
  ASSERT_TRUE(file.has_value());
  file->ReleasePages(file->bytes().data() + 1, 50'000);
  EXPECT_EQ(Text(*file), contents);
}

TEST(MappedFile, AnEmptyFileIsAnEmptySpan) {
  const TemporaryDirectory directory;
  const Result<MappedFile> file = MappedFile::Open(directory.Write("empty", ""));
  ASSERT_TRUE(file.has_value());
  EXPECT_TRUE(file->bytes().empty());
}

TEST(MappedFile, ErrorsNameThePath) {
  const TemporaryDirectory directory;
  const Result<MappedFile> absent = MappedFile::Open(directory.path() + "/absent");
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(absent.error().message, HasSubstr(directory.path() + "/absent"));
  const Result<MappedFile> folder = MappedFile::Open(directory.path());
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().message, directory.path() + ": is a directory, expected a regular file");
}

// Where the pages of a file end: in the middle of the last one, and at its end.
TEST(MappedFile, AFileThatShrinksReadsAsZerosAndIsAnError) {
  const TemporaryDirectory directory;
  const std::string contents(64 << 10, 'x');
  for (const size_t left : {0, 4096, 10'000}) {
    const std::string path = directory.Write("a", contents);
    const Result<MappedFile> file = MappedFile::Open(path);
    ASSERT_TRUE(file.has_value());
    EXPECT_TRUE(file->CheckUnchanged());
    std::filesystem::resize_file(path, left);
    EXPECT_EQ(Text(*file), contents.substr(0, left) + std::string(contents.size() - left, '\0'));
    EXPECT_TRUE(file->is_torn());
    const Result<void> checked = file->CheckUnchanged();
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().message, fmt::format("{}: had 65536 bytes when it was opened, and {} "
                                                   "while it was read",
                                                   path, left));
  }
}

TEST(MappedFile, AFileThatShrankForAMomentIsAnErrorToo) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write("a", std::string(64 << 10, 'x'));
  const Result<MappedFile> file = MappedFile::Open(path);
  ASSERT_TRUE(file.has_value());
  std::filesystem::resize_file(path, 0);
  std::filesystem::resize_file(path, 64 << 10);
  EXPECT_FALSE(file->is_torn());  // its zeros are the file's own
  const Result<void> checked = file->CheckUnchanged();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message, path + ": was changed while it was read");
}

TEST(MappedFile, ManyThreadsMayMeetTheEndOfAFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write("a", std::string(4 << 20, 'x'));
  const Result<MappedFile> file = MappedFile::Open(path);
  ASSERT_TRUE(file.has_value());
  std::filesystem::resize_file(path, 0);
  std::vector<size_t> zeros(8);
  {
    std::vector<std::jthread> threads;
    for (size_t& count : zeros) {
      threads.emplace_back([&] { count = std::ranges::count(file->bytes(), std::byte{0}); });
    }
  }
  EXPECT_EQ(zeros, std::vector<size_t>(8, 4 << 20));
}

TEST(MappedFileDeathTest, AnyOtherBusErrorEndsTheProcess) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write("a", "hello");
  const Result<MappedFile> file = MappedFile::Open(path);
  ASSERT_TRUE(file.has_value());
  // A sanitizer's handler, which was there before, ends the process with a status of its own.
  const auto is_death = [](int status) {
    return WIFSIGNALED(status) ? WTERMSIG(status) == SIGBUS : WEXITSTATUS(status) != 0;
  };
  EXPECT_EXIT(raise(SIGBUS), is_death, "");
}

}  // namespace
}  // namespace weft
