// Model files with bytes changed at random: refused with one line, or loaded into a model that
// runs; never a crash (the sanitizer runs look closer).
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/parity_fixture.h"

namespace weft {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void WriteAll(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class HostileCheckpointTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "weft_hostile_XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // True if the file loads (then it runs, too); otherwise the error is one line that names the
  // file.
  bool LoadsOrIsRefused(const std::string& path) {
    std::string message;
    try {
      const RunOptions options{.arithmetic = Arithmetic::kBF16, .isa = ChooseIsa().value()};
      RunnableModel model(path, options);
      model.RunSequence({1, 2, 3});
      return true;
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    EXPECT_THAT(message, testing::HasSubstr(directory_));
    EXPECT_THAT(message, testing::Not(testing::HasSubstr("\n")));
    return false;
  }

  std::mt19937 random_{7};
  std::string directory_;
};

TEST_P(HostileCheckpointTest, GgufWithChangedBytes) {
  const std::string good = ReadAll(ParityPath(GetParam(), "model.gguf"));
  const std::string path = directory_ + "/model.gguf";
  WriteAll(path, good);
  ASSERT_TRUE(LoadsOrIsRefused(path));
  // Metadata first; the token list in its middle is the tokenizer's business. Then tensor infos.
  const size_t tokens = good.find("tokenizer.ggml.tokens");
  const size_t infos = good.find("token_embd.weight");
  ASSERT_NE(tokens, std::string::npos);
  ASSERT_NE(infos, std::string::npos);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bad = good;
    const size_t begin = round % 2 == 0 ? 0 : infos;
    const size_t length = round % 2 == 0 ? tokens : 1200;
    for (uint32_t changes = 1 + random_() % 3; changes > 0; --changes) {
      constexpr char kExtremes[] = {0, 1, 0x7f, static_cast<char>(0x80), static_cast<char>(0xff)};
      bad[begin + random_() % length] = kExtremes[random_() % std::size(kExtremes)];
    }
    WriteAll(path, bad);
    refused += LoadsOrIsRefused(path) ? 0 : 1;
  }
  EXPECT_GT(refused, 150);
}

TEST_P(HostileCheckpointTest, TruncatedGguf) {
  const std::string good = ReadAll(ParityPath(GetParam(), "model.gguf"));
  const std::string path = directory_ + "/model.gguf";
  for (int round = 0; round < 50; ++round) {
    WriteAll(path, good.substr(0, random_() % good.size()));
    EXPECT_FALSE(LoadsOrIsRefused(path));
  }
}

TEST_P(HostileCheckpointTest, ConfigJsonWithChangedBytes) {
  const std::string directory = directory_ + "/hf";
  std::filesystem::copy(ParityPath(GetParam(), "hf"), directory);
  const std::string good = ReadAll(directory + "/config.json");
  ASSERT_TRUE(LoadsOrIsRefused(directory));
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bad = good;
    constexpr std::string_view kCharacters = "0123456789-.e{}[]\",:ntx\xff";
    bad[random_() % bad.size()] = kCharacters[random_() % kCharacters.size()];
    WriteAll(directory + "/config.json", bad);
    refused += LoadsOrIsRefused(directory) ? 0 : 1;
  }
  EXPECT_GT(refused, 100);
}

INSTANTIATE_TEST_SUITE_P(Architectures, HostileCheckpointTest,
                         testing::Values("llama_yarn", "mistral", "qwen3_moe"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace weft
