// A prompt of 700 tokens against transformers, with every model that keeps a state: what it forgets
// and what it adds up shows only far from the beginning.
#include <fstream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/model/parity_fixture.h"

namespace weft {
namespace {

class LongPromptTest : public testing::TestWithParam<const char*> {
 protected:
  LongPromptTest() {
    std::ifstream text(Path("prompt.json"));
    const auto prompt = nlohmann::json::parse(text);
    tokens_ = prompt.at("tokens").get<std::vector<TokenId>>();
    positions_ = prompt.at("positions").get<std::vector<size_t>>();
    std::ifstream numbers(Path(fmt::format("{}.f32", GetParam())), std::ios::binary);
    std::vector<float> logits(kVocab);
    const auto row_bytes = static_cast<std::streamsize>(kVocab * sizeof(float));
    while (numbers.read(reinterpret_cast<char*>(logits.data()), row_bytes)) {
      expected_.push_back(logits);
    }
    EXPECT_EQ(expected_.size(), positions_.size());
  }

  void ExpectParity(const std::string& file) {
    RunnableModel model(ParityPath(GetParam(), file),
                        {.arithmetic = Arithmetic::kF32, .block_count = 32, .max_rows = 1024});
    for (const size_t chunk_size : {size_t{1000}, size_t{1}, size_t{7}}) {
      const std::vector<std::vector<float>> all = model.RunSequence(tokens_, chunk_size);
      std::vector<std::vector<float>> found;
      for (const size_t position : positions_) found.push_back(all.at(position));
      EXPECT_LT(RelativeError(found, expected_), 1e-4)
          << GetParam() << " " << file << ", chunks of " << chunk_size;
    }
  }

 private:
  static constexpr size_t kVocab = 264;
  static std::string Path(const std::string& file) {
    return SourcePath("tests/model/fixtures/long_prompts/" + file);
  }

  std::vector<TokenId> tokens_;
  std::vector<size_t> positions_;  // whose logits are expected
  std::vector<std::vector<float>> expected_;
};

TEST_P(LongPromptTest, FromGguf) { ExpectParity("model.gguf"); }
TEST_P(LongPromptTest, FromHuggingFace) { ExpectParity("hf"); }

INSTANTIATE_TEST_SUITE_P(Architectures, LongPromptTest,
                         testing::Values("falcon_h1", "granitehybrid", "granitehybrid_moe", "lfm2",
                                         "lfm2_moe", "mamba2", "nemotron_h", "nemotron_h_moe",
                                         "qwen3_5", "qwen3_5_moe", "qwen3_next"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace weft
