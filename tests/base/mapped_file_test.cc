#include "base/mapped_file.h"

#include <cstring>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_THAT(folder.error().message, HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace weft
