#include "server/models/model_catalog.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/temporary_directory.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// "id kind size" of each.
std::vector<std::string> Lines(const std::optional<std::vector<DiskModel>>& models) {
  std::vector<std::string> lines;
  for (const DiskModel& model : models.value_or(std::vector<DiskModel>())) {
    lines.push_back(fmt::format("{} {} {}", model.id, model.kind, model.file_bytes));
  }
  return lines;
}

class ModelCatalogTest : public testing::Test {
 protected:
  void Write(const std::string& path, size_t bytes) const {
    const fs::path whole = fs::path(directory_.path()) / path;
    fs::create_directories(whole.parent_path());
    std::ofstream(whole) << std::string(bytes, 'x');
  }
  void Link(const std::string& target, const std::string& path) const {
    fs::create_symlink(target, fs::path(directory_.path()) / path);
  }
  ModelCatalog Open() const { return ModelCatalog::Open(At("models"), std::nullopt).value(); }
  std::string At(const std::string& path) const { return directory_.path() + "/" + path; }

  const TemporaryDirectory directory_;
};

TEST_F(ModelCatalogTest, FilesAndDirectoriesOfAFolder) {
  Write("models/small-Q8_0.gguf", 3);
  Write("models/set-Q4_K_M-00001-of-00002.gguf", 5);
  Write("models/set-Q4_K_M-00002-of-00002.gguf", 6);
  Write("models/torn-00001-of-00002.gguf", 5);  // its second part is missing
  Write("models/mmproj-small.gguf", 1);
  Write("models/notes.txt", 1);
  Write("models/bert/config.json", 1);
  Write("models/bert/model.safetensors", 10);
  Write("models/bert/1_Pooling/config.json", 2);
  Write("models/empty/config.json", 1);
  Write("models/deep/er/hidden.gguf", 1);
  ModelCatalog catalog = Open();
  const auto models = catalog.Scan();
  EXPECT_THAT(Lines(models), ElementsAre("bert safetensors 13", "set-Q4_K_M GGUF Q4_K_M 11",
                                         "small-Q8_0 GGUF Q8_0 3"));
  EXPECT_EQ(models->at(0).path, fs::canonical(At("models/bert")));
  EXPECT_EQ(models->at(1).path, fs::canonical(At("models/set-Q4_K_M-00001-of-00002.gguf")));
  EXPECT_GT(models->at(0).modified, 1'700'000'000);
}

TEST_F(ModelCatalogTest, LinksLeadNowhereElse) {
  Write("outside.gguf", 1);
  Write("elsewhere/config.json", 1);
  Write("elsewhere/model.safetensors", 1);
  Write("models/inside.gguf", 1);
  Link("../outside.gguf", "models/out.gguf");
  Link("../elsewhere", "models/elsewhere");
  Link("inside.gguf", "models/again.gguf");
  Link("/dev/zero", "models/zero.gguf");
  ModelCatalog catalog = Open();
  EXPECT_THAT(Lines(catalog.Scan()), ElementsAre("again GGUF 1", "inside GGUF 1"));
}

TEST_F(ModelCatalogTest, NamesAreThoseOfOneModelAndAreText) {
  Write("models/a.gguf", 1);
  Write("models/a/config.json", 1);
  Write("models/a/model.safetensors", 1);
  Write("models/b\xFF.gguf", 1);
  Write("models/c\n.gguf", 1);
  ModelCatalog catalog = Open();
  EXPECT_THAT(Lines(catalog.Scan()), ElementsAre("a GGUF 1"));
}

TEST_F(ModelCatalogTest, IsReadAgainWhenAFolderHasChanged) {
  Write("models/a.gguf", 1);
  ModelCatalog catalog = Open();
  EXPECT_EQ(catalog.Scan()->size(), 1U);
  EXPECT_FALSE(catalog.Scan());
  Write("models/b.gguf", 1);
  EXPECT_EQ(catalog.Scan()->size(), 2U);
  fs::remove(At("models/a.gguf"));
  EXPECT_THAT(Lines(catalog.Scan()), ElementsAre("b GGUF 1"));
}

TEST_F(ModelCatalogTest, WhatWasFetchedIsCalledByItsRepository) {
  const std::string commit(40, 'a');
  const std::string repository = "cache/models--org--name-GGUF/";
  Write(repository + "blobs/1", 7);
  Write(repository + "blobs/2", 8);
  Write(repository + "refs/main", 0);
  std::ofstream(At(repository + "refs/main")) << commit;
  fs::create_directories(At(repository + "snapshots/" + commit));
  Link("../../blobs/1", repository + "snapshots/" + commit + "/name-Q8_0.gguf");
  Link("../../blobs/2", repository + "snapshots/" + commit + "/name-Q4_0.gguf");
  ModelCatalog catalog = ModelCatalog::Open("", HubCache(At("cache"))).value();
  const auto models = catalog.Scan();
  EXPECT_THAT(Lines(models),
              ElementsAre("org/name-GGUF:Q4_0 GGUF Q4_0 8", "org/name-GGUF:Q8_0 GGUF Q8_0 7"));
  EXPECT_THAT(models->at(0).aliases, ElementsAre("hf:org/name-GGUF:Q4_0", "name-GGUF:Q4_0"));
}

TEST_F(ModelCatalogTest, AFolderThatIsNoneIsRefused) {
  const auto missing = ModelCatalog::Open(At("nowhere"), std::nullopt);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("--models-dir"));
}

}  // namespace
}  // namespace weft
