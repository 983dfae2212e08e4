// Files that change while a model is loaded, and JSON files that would come to more than a model's
// can: an error each, before anything is made of them.
#include <filesystem>

#include <gtest/gtest.h>

#include "model/load.h"
#include "tests/model/parity_fixture.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

// A copy of the fixture's file or directory.
std::string CopyOf(const std::string& what, const TemporaryDirectory& directory) {
  const std::string path = directory.path() + "/" + what;
  std::filesystem::copy(ParityPath("llama2", what), path);
  return path;
}

// The error of packing it, when `cut` is as short as `left` bytes after its first tensor.
std::string PackingError(const std::string& path, const std::string& cut, uintmax_t left) {
  Result<Checkpoint> checkpoint = LoadCheckpoint(path);
  EXPECT_TRUE(checkpoint) << checkpoint.error().message;
  ThreadPool threads(3);
  const auto shrink = [&](int64_t /*done_bytes*/, int64_t /*total_bytes*/) {
    if (std::filesystem::file_size(cut) > left) std::filesystem::resize_file(cut, left);
    return true;
  };
  const Result<Transformer> loaded =
      LoadTransformer(*checkpoint, KernelsFor(Arithmetic::kBF16, Isa::kScalar), threads, shrink);
  return loaded ? "" : loaded.error().message;
}

TEST(ChangedFilesTest, AFileThatShrinksWhileItIsPackedIsAnError) {
  for (const uintmax_t left : {0, 4096, 344'095}) {
    const TemporaryDirectory directory;
    const std::string path = CopyOf("model.gguf", directory);
    EXPECT_EQ(PackingError(path, path, left),
              fmt::format("{}: had 344096 bytes when it was opened, and {} while it was read", path,
                          left));
  }
  const TemporaryDirectory directory;
  const std::string path = CopyOf("hf", directory);
  const std::string shard = path + "/model-00003-of-00004.safetensors";
  EXPECT_EQ(PackingError(path, shard, 100),
            shard + ": had 93584 bytes when it was opened, and 100 while it was read");
}

TEST(ChangedFilesTest, PackingStopsWhenNobodyWantsIt) {
  Result<Checkpoint> checkpoint = LoadCheckpoint(ParityPath("llama2", "model.gguf"));
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  ThreadPool threads(3);
  int64_t done = 0;
  const auto stop_soon = [&](int64_t done_bytes, int64_t total_bytes) {
    EXPECT_LT(done_bytes, total_bytes / 2);
    done = done_bytes;
    return false;
  };
  const Result<Transformer> loaded =
      LoadTransformer(*checkpoint, KernelsFor(Arithmetic::kBF16, Isa::kScalar), threads, stop_soon);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kUnavailable);
  EXPECT_GT(done, 0);
}

// `[{},{},...]`, as a member that nobody reads.
std::string ManyValues(size_t size_bytes) {
  std::string text = R"({"model_type":"llama","x":[{})";
  while (text.size() < size_bytes) text += ",{}";
  return text + "]}";
}

TEST(HostileJsonTest, FilesOfAGreatManyValuesAreRefused) {
  const TemporaryDirectory directory;
  const std::string path = CopyOf("hf", directory);
  const auto error_with = [&](const std::string& name, size_t size_bytes) {
    const std::string good = path + "/" + name;
    std::filesystem::rename(good, directory.path() + "/kept");
    directory.Write("hf/" + name, ManyValues(size_bytes));
    const Result<Checkpoint> checkpoint = LoadCheckpoint(path);
    std::filesystem::rename(directory.path() + "/kept", good);
    return checkpoint ? std::string() : checkpoint.error().message.substr(path.size() + 1);
  };
  EXPECT_EQ(error_with("config.json", 20 << 20),
            "config.json: has 20971522 bytes, expected at most 16777216");
  EXPECT_EQ(error_with("config.json", 2 << 20),
            "config.json: more than 262144 values, the last one at its byte 393237");
  EXPECT_EQ(error_with("tokenizer_config.json", 2 << 20),
            "tokenizer_config.json: more than 262144 values, the last one at its byte 393237");
  EXPECT_EQ(error_with("generation_config.json", 2 << 20),
            "generation_config.json: more than 262144 values, the last one at its byte 393237");
  EXPECT_EQ(error_with("tokenizer.json", 6 << 20),
            "tokenizer.json: more than 3145728 values, the last one at its byte 4718613");
}

}  // namespace
}  // namespace weft
