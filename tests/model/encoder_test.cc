// Encoders against transformers: the same checkpoint, the same texts, nearly the same hidden
// states; and the same bits alone, in a crowd and on every instruction set.
#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/model/kernels/kernel_fixtures.h"
#include "tests/model/parity_fixture.h"

namespace weft {
namespace {

// Of tests/tools/make_parity_fixtures.py.
constexpr std::array kEncoderFixtures = {
    "bert",             // token types, norms of sums
    "distilbert",       // no token types
    "eurobert",         // RMS norms
    "gemma_embedding",  // windows to both sides, norms of what attention and MLP give
    "modernbert",       // windows to both sides, two rotations, no norm before the first layer
    "nomic_bert",       // one rotation, one matrix of query, key and value
    "roberta",          // positions behind the padding's
};

using Rows = std::vector<std::vector<float>>;

struct Text {
  std::vector<TokenId> tokens;
  Rows hidden;  // the reference's
};

std::vector<Text> ReadTexts(const std::string& fixture) {
  std::ifstream text(ParityPath(fixture, "expected.json"));
  const auto json = nlohmann::json::parse(text);
  std::ifstream numbers(ParityPath(fixture, "hidden.f32"), std::ios::binary);
  std::vector<Text> texts;
  for (const auto& tokens : json.at("texts")) {
    Text next{tokens, {}};
    for (size_t row = 0; row < next.tokens.size(); ++row) {
      std::vector<float> values(json.at("hidden_size").get<size_t>());
      numbers.read(reinterpret_cast<char*>(values.data()),
                   static_cast<std::streamsize>(values.size() * sizeof(float)));
      next.hidden.push_back(std::move(values));
    }
    texts.push_back(std::move(next));
  }
  EXPECT_TRUE(numbers.good() && numbers.peek() == std::ifstream::traits_type::eof()) << fixture;
  return texts;
}

// The hidden states of each text, all in one step. As in the fixtures, a second text begins in the
// middle of each.
std::vector<Rows> Encode(RunnableModel& model, const std::vector<Text>& texts) {
  std::vector<Chunk> chunks;
  int32_t first_block = 0;
  for (const Text& text : texts) {
    const auto length = std::ssize(text.tokens);
    chunks.push_back({.tokens = text.tokens,
                      .block_table = model.Blocks(first_block, length),
                      .second_text = static_cast<int32_t>(length / 2)});
    first_block += static_cast<int32_t>(std::ssize(chunks.back().block_table));
  }
  const Rows rows = model.HiddenStates(chunks);
  std::vector<Rows> hidden;
  auto at = rows.begin();
  for (const Text& text : texts) {
    hidden.emplace_back(at, at + std::ssize(text.tokens));
    at += std::ssize(text.tokens);
  }
  return hidden;
}

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

TEST_P(EncoderTest, Float32FromGguf) { ExpectParity("model.gguf", Arithmetic::kF32, 1e-4); }
TEST_P(EncoderTest, Float32FromHuggingFace) { ExpectParity("hf", Arithmetic::kF32, 1e-4); }
TEST_P(EncoderTest, Bfloat16FromGguf) { ExpectParity("model.gguf", Arithmetic::kBF16, 2e-2); }
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

// Of the same script: a classifier of each family.
constexpr std::array kClassifierFixtures = {
    "bert_classifier",        // a dense layer with tanh
    "distilbert_classifier",  // with ReLU
    "modernbert_classifier",  // with GELU and a norm, over the mean
    "roberta_classifier",     // five labels
};

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

INSTANTIATE_TEST_SUITE_P(Architectures, ClassifierTest, testing::ValuesIn(kClassifierFixtures),
                         [](const auto& parameter) { return std::string(parameter.param); });
INSTANTIATE_TEST_SUITE_P(Architectures, EncoderTest, testing::ValuesIn(kEncoderFixtures),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace weft
