// A real, trained model against an independent engine: optional data, see shared/data/README.md.
#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/data_paths.h"
#include "tests/model/model_fixture.h"
#include "tests/model/parity_fixture.h"

namespace weft {
namespace {

double LogProbability(const std::vector<float>& logits, size_t token) {
  const double maximum = logits[Argmax(logits)];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - maximum);
  return logits[token] - maximum - std::log(sum);
}

TEST(StoriesTest, GivesTheExpectedTokensAndLogProbabilities) {
  const std::string path = SharedDataPath("models/stories260K.gguf");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
  std::ifstream text(SharedDataPath("models/stories260K.expected.json"));
  const auto expected = nlohmann::json::parse(text);
  RunnableModel model(path, {.arithmetic = Arithmetic::kF32});
  ASSERT_FALSE(expected.at("cases").empty());
  for (const auto& story : expected.at("cases")) {
    const std::vector<TokenId> prompt = story.at("prompt_tokens");
    EXPECT_EQ(
        model.checkpoint().tokenizer->Encode(story.at("prompt").get<std::string>(), {}).value(),
        prompt);
    const std::vector<int32_t> blocks = model.Blocks(0, 256);
    Chunk chunk{prompt, 0, blocks};
    for (const auto& step : story.at("logprobs")) {
      const std::vector<float> logits = model.Run(std::span(&chunk, 1)).back();
      ASSERT_EQ(Argmax(logits), step.at("id").get<size_t>());
      for (const auto& likely : step.at("top")) {
        EXPECT_NEAR(LogProbability(logits, likely.at(0)), likely.at(1).get<double>(), 1e-3);
      }
      chunk.first_position += static_cast<int32_t>(chunk.tokens.size());
      chunk.tokens = {static_cast<TokenId>(Argmax(logits))};
    }
  }
}

}  // namespace
}  // namespace weft
