// The cache on disk, and what is in it.
#include "server/hub/hub_cache.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/regular_file.h"
#include "server/hub/cached_models.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kOld(40, 'a');
const std::string kNew(40, 'b');
constexpr ModelRoom kRoom = {.memory = 100, .weights = 50};

class HubCacheTest : public testing::Test {
 protected:
  // A file of a snapshot, with its content under this name.
  void Add(const std::string& commit, const std::string& path, const std::string& blob_id,
           const std::string& content) {
    ASSERT_TRUE(cache.Prepare("o/r"));
    directory.Write("models--o--r/blobs/" + blob_id, content);
    ASSERT_TRUE(cache.Link("o/r", commit, {.path = path, .size = 0, .blob_id = blob_id}));
  }

  const TemporaryDirectory directory;
  const HubCache cache{directory.path()};
};

TEST_F(HubCacheTest, TheLayoutIsThatOfHuggingfaceHub) {
  Add(kOld, "x/a.gguf", "id", "text");
  const fs::path link = directory.path() + "/models--o--r/snapshots/" + kOld + "/x/a.gguf";
  EXPECT_EQ(fs::read_symlink(link), "../../../blobs/id");
  EXPECT_EQ(ReadFile(link, 10).value(), "text");
  EXPECT_TRUE(cache.Has("o/r", kOld, {.path = "x/a.gguf", .size = 4, .blob_id = "id"}));
  EXPECT_FALSE(cache.Has("o/r", kOld, {.path = "x/a.gguf", .size = 5, .blob_id = "id"}));
  EXPECT_FALSE(cache.Has("o/r", kOld, {.path = "x/a.gguf", .size = 4, .blob_id = "other"}));
  ASSERT_TRUE(cache.SetCommitOf("o/r", "refs/pr/1", kOld));
  EXPECT_EQ(ReadFile(directory.path() + "/models--o--r/refs/refs/pr/1", 100).value(), kOld);
  EXPECT_THAT(ReadFile(directory.path() + "/CACHEDIR.TAG", 1000).value(),
              HasSubstr("Signature: 8a477f597d28d172789f06886806bc55\n"));
  EXPECT_EQ(cache.LockPath("o/r", "id"), directory.path() + "/.locks/models--o--r/id.lock");
}

TEST_F(HubCacheTest, WhatIsThere) {
  Add(kOld, "x/a.gguf", "id", "text");
  directory.Write("models--o--r/snapshots/" + kOld + "/.hidden", "");
  fs::create_symlink("nowhere",
                     directory.path() + "/models--o--r/snapshots/" + kOld + "/gone.json");
  directory.Write("models--..--x/y", "");
  directory.Write("datasets--o--r/y", "");
  EXPECT_THAT(cache.Repositories(), ElementsAre("o/r"));
  EXPECT_THAT(cache.Commits("o/r"), ElementsAre(kOld));
  EXPECT_THAT(cache.Files("o/r", kOld), ElementsAre(HubFile{"x/a.gguf", 4, ""}));
  EXPECT_THAT(cache.Files("o/r", kNew), IsEmpty());
}

TEST_F(HubCacheTest, RevisionsAreCommitsThatHaveASnapshot) {
  Add(kOld, "a.gguf", "id", "text");
  EXPECT_EQ(cache.CommitOf("o/r", kOld), kOld);
  EXPECT_EQ(cache.CommitOf("o/r", kNew), std::nullopt);
  EXPECT_EQ(cache.CommitOf("o/r", "main"), std::nullopt);
  directory.Write("models--o--r/refs/main", kOld + "\n");
  EXPECT_EQ(cache.CommitOf("o/r", "main"), kOld);
  directory.Write("models--o--r/refs/main", "../../..");
  EXPECT_EQ(cache.CommitOf("o/r", "main"), std::nullopt);
}

TEST_F(HubCacheTest, OneHoldsALock) {
  ASSERT_TRUE(cache.Prepare("o/r"));
  const std::string path = cache.LockPath("o/r", "id");
  {
    const auto first = FileLock::Try(path).value();
    EXPECT_TRUE(first);
    EXPECT_FALSE(FileLock::Try(path).value());
  }
  EXPECT_TRUE(FileLock::Try(path).value());
}

TEST_F(HubCacheTest, ModelsAreListedByNamesThatFindThem) {
  Add(kOld, "m-Q8_0.gguf", "1", std::string(60, 'x'));
  Add(kNew, "m-Q4_K_M.gguf", "2", std::string(40, 'x'));
  Add(kNew, "m-Q4_0_4_4.gguf", "3", "x");
  Add(kNew, "config.json", "4", "x");
  Add(kNew, "model.safetensors", "5", "xy");
  ASSERT_TRUE(cache.SetCommitOf("o/r", "main", kNew));
  std::vector<std::string> lines;
  for (const CachedModel& model : ListCachedModels(cache, kRoom)) {
    lines.push_back(
        fmt::format("{} | {} | {} | {}", model.name, model.kind, model.bytes, model.fits));
  }
  EXPECT_THAT(lines, ElementsAre("hf:o/r:Q8_0@" + kOld + " | GGUF Q8_0 | 60 | false",
                                 "hf:o/r:Q4_K_M | GGUF Q4_K_M | 40 | true",
                                 "hf:o/r | safetensors | 3 | true"));
}

TEST_F(HubCacheTest, OneFileIsRemovedWithWhatNothingElseRefersTo) {
  Add(kOld, "m-Q8_0.gguf", "1", std::string(60, 'x'));
  Add(kNew, "m-Q8_0.gguf", "1", std::string(60, 'x'));
  Add(kNew, "copy-F16.gguf", "2", "xyz");
  Add(kNew, "m-F32.gguf", "2", "xyz");
  const RemovedModel eight = RemoveModel(cache, {"o/r", "Q8_0"}).value();
  EXPECT_EQ(eight.freed_bytes, 60u);
  EXPECT_THAT(cache.Commits("o/r"), ElementsAre(kNew));
  // The content of the one that stays is the same.
  const RemovedModel half = RemoveModel(cache, {"o/r", "F16"}).value();
  EXPECT_EQ(half.freed_bytes, 0u);
  EXPECT_EQ(ReadFile(cache.SnapshotPath("o/r", kNew) + "/m-F32.gguf", 10).value(), "xyz");
  EXPECT_EQ(RemoveModel(cache, {"o/r", "F32"}).value().freed_bytes, 3u);
  EXPECT_FALSE(fs::exists(cache.RepositoryPath("o/r")));
}

TEST_F(HubCacheTest, ARevisionIsRemoved) {
  Add(kOld, "a.gguf", "1", "old");
  Add(kOld, "same.gguf", "2", "same");
  Add(kNew, "same.gguf", "2", "same");
  EXPECT_EQ(RemoveModel(cache, {"o/r", "", kOld}).value().freed_bytes, 3u);
  EXPECT_THAT(cache.Commits("o/r"), ElementsAre(kNew));
  EXPECT_THAT(cache.Files("o/r", kNew), ElementsAre(HubFile{"same.gguf", 4, ""}));
}

TEST_F(HubCacheTest, ARepositoryIsRemoved) {
  Add(kOld, "a.gguf", "1", "four");
  directory.Write("models--o--r/blobs/2.incomplete", "half");
  // Links lead nowhere else.
  const std::string outside = directory.Write("outside", "kept");
  fs::create_symlink(outside, cache.BlobPath("o/r", "3"));
  EXPECT_EQ(RemoveModel(cache, {"o/r", ""}).value().freed_bytes, 8u);
  EXPECT_FALSE(fs::exists(cache.RepositoryPath("o/r")));
  EXPECT_EQ(ReadFile(outside, 10).value(), "kept");
}

TEST_F(HubCacheTest, WhatIsNotThereOrBusyIsNotRemoved) {
  EXPECT_EQ(RemoveModel(cache, {"o/r", ""}).error().code, ErrorCode::kNotFound);
  Add(kOld, "a-F16.gguf", "1", "four");
  EXPECT_EQ(RemoveModel(cache, {"o/r", "Q8_0"}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(RemoveModel(cache, {"o/r", "", kNew}).error().code, ErrorCode::kNotFound);
  const auto lock = FileLock::Try(cache.LockPath("o/r", "1")).value();
  EXPECT_EQ(RemoveModel(cache, {"o/r", ""}).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(fs::exists(cache.RepositoryPath("o/r")));
}

}  // namespace
}  // namespace weft
