// Encoders against transformers: the same checkpoint, the same texts, nearly the same hidden
// states; and the same bits alone, in a crowd and on every instruction set.
#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/model/encoder_fixture.h"
#include "tests/model/kernels/kernel_fixtures.h"

namespace weft {
namespace {

class EncoderTest : public testing::TestWithParam<const char*> {
 protected:
  void ExpectParity(const std::string& file, Arithmetic arithmetic, double tolerance) const {
    RunnableModel model(ParityPath(GetParam(), file), {.arithmetic = arithmetic});
    EXPECT_TRUE(model.spec().is_encoder);
    for (const Text& text : ReadTexts(GetParam())) {
      EXPECT_LT(RelativeError(Encode(model, {text}).front(), text.hidden), tolerance)
          << GetParam() << " " << file << ", " << text.tokens.size() << " tokens";
    }
  }
};

class GgufEncoderTest : public EncoderTest {};

TEST_P(GgufEncoderTest, Float32) { ExpectParity("model.gguf", Arithmetic::kF32, 1e-4); }
TEST_P(GgufEncoderTest, Bfloat16) { ExpectParity("model.gguf", Arithmetic::kBF16, 2e-2); }
TEST_P(EncoderTest, Float32FromHuggingFace) { ExpectParity("hf", Arithmetic::kF32, 1e-4); }
TEST_P(EncoderTest, Bfloat16FromHuggingFace) { ExpectParity("hf", Arithmetic::kBF16, 2e-2); }

// Laws 2 and 3.
TEST_P(EncoderTest, TheSameBitsAloneInACrowdAndEverywhere) {
  const std::vector<Text> texts = ReadTexts(GetParam());
  for (const Arithmetic arithmetic : {Arithmetic::kBF16, Arithmetic::kInt8}) {
    RunnableModel reference(ParityPath(GetParam(), "hf"), {.arithmetic = arithmetic});
    std::vector<Rows> alone;
    for (const Text& text : texts) alone.push_back(Encode(reference, {text}).front());
    for (const KernelTable* kernels : AvailableTables(arithmetic, KvType::kBF16)) {
      RunnableModel model(ParityPath(GetParam(), "hf"),
                          {.arithmetic = arithmetic,
                           .thread_count = 3,
                           .adjust_kernels = [&](KernelTable& table) { table = *kernels; }});
      EXPECT_EQ(Encode(model, texts), alone) << kernels->name;
    }
  }
}

// A text sees all of itself, and nothing of others: a change of its last token changes its first
// position.
TEST_P(EncoderTest, EveryPositionSeesEveryOther) {
  RunnableModel model(ParityPath(GetParam(), "hf"), {.arithmetic = Arithmetic::kBF16});
  std::vector<Text> texts = ReadTexts(GetParam());
  const std::vector<Rows> before = Encode(model, texts);
  texts.back().tokens.back() ^= 1;
  const std::vector<Rows> after = Encode(model, texts);
  for (size_t i = 0; i + 1 < texts.size(); ++i) EXPECT_EQ(before[i], after[i]);
  for (size_t row = 0; row < texts.back().tokens.size(); ++row) {
    EXPECT_NE(before.back()[row], after.back()[row]) << row;
  }
}

class ClassifierTest : public EncoderTest {};

TEST_P(ClassifierTest, LogitsOfLabels) {
  std::ifstream file(ParityPath(GetParam(), "expected.json"));
  const auto expected =
      nlohmann::json::parse(file).at("logits").get<std::vector<std::vector<float>>>();
  RunnableModel model(ParityPath(GetParam(), "hf"), {.arithmetic = Arithmetic::kF32});
  const auto& classifier = model.spec().classifier;
  ASSERT_TRUE(classifier);
  const std::vector<Text> texts = ReadTexts(GetParam());
  ASSERT_EQ(texts.size(), expected.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(classifier->labels.size(), expected[i].size());
    const Rows hidden = Encode(model, {texts[i]}).front();
    std::vector<float> pooled = hidden.front();
    for (size_t d = 0; classifier->pooling == Pooling::kMean && d < pooled.size(); ++d) {
      double sum = 0;
      for (const std::vector<float>& row : hidden) sum += double{row[d]};
      pooled[d] = static_cast<float>(sum / static_cast<double>(hidden.size()));
    }
    const Rows logits = {model.FromPooled(PooledOutput::kLabels, std::move(pooled))};
    EXPECT_LT(RelativeError(logits, {expected[i]}), 1e-4) << GetParam() << " " << i;
  }
}

std::string NameOf(const testing::TestParamInfo<const char*>& parameter) { return parameter.param; }

INSTANTIATE_TEST_SUITE_P(Architectures, ClassifierTest, testing::ValuesIn(kClassifierFixtures),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Architectures, EncoderTest, testing::ValuesIn(kEncoderFixtures), NameOf);
INSTANTIATE_TEST_SUITE_P(Architectures, GgufEncoderTest, testing::ValuesIn(kEncoderFixtures),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(ArchitecturesWithoutGguf, EncoderTest,
                         testing::ValuesIn(kEncoderFixturesWithoutGguf), NameOf);

}  // namespace
}  // namespace weft
