// Encoders against transformers: the same checkpoint, the same texts, nearly the same hidden
// states; and the same bits alone, in a crowd and on every instruction set.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/encoder_fixture.h"
#include "tests/model/kernels/kernel_fixtures.h"
#include "tests/read_file.h"
#include "tests/temporary_directory.h"

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

void ExpectLogitsOfLabels(const std::string& fixture, const std::string& file) {
  RunnableModel model(ParityPath(fixture, file), {.arithmetic = Arithmetic::kF32});
  ASSERT_TRUE(model.spec().classifier);
  EXPECT_FALSE(model.spec().has_head());
  const Rows expected = ReadExpected(fixture, "logits");
  const Rows logits = LabelLogits(model, ReadTexts(fixture));
  ASSERT_EQ(logits.size(), expected.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    EXPECT_EQ(model.spec().classifier->labels.size(), expected[i].size());
    EXPECT_LT(RelativeError({logits[i]}, {expected[i]}), 1e-4) << fixture << " " << i;
  }
}

TEST_P(ClassifierTest, LogitsOfLabels) { ExpectLogitsOfLabels(GetParam(), "hf"); }
TEST(GgufClassifierTest, LogitsOfLabels) {
  ExpectLogitsOfLabels("roberta_ranker", "model.gguf");
  ExpectLogitsOfLabels("roberta_ranker", "hf");
}

class MaskedHeadTest : public EncoderTest {};

TEST_P(MaskedHeadTest, WeightsOfTokens) {
  RunnableModel model(ParityPath(GetParam(), "hf"), {.arithmetic = Arithmetic::kF32});
  EXPECT_TRUE(model.spec().makes(PooledOutput::kSparse));
  EXPECT_FALSE(model.spec().generates());
  const Rows expected = ReadExpected(GetParam(), "weights");
  const Rows weights = SparseWeights(model, ReadTexts(GetParam()));
  ASSERT_EQ(weights.size(), expected.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_LT(RelativeError({weights[i]}, {expected[i]}), 1e-4) << GetParam() << " " << i;
  }
}

// The text with `to` in place of `from`, which it has.
std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// Of modernbert_masked with this config.json and these tensors.
Rows WeightsWith(const std::string& config, const std::string& tensors) {
  const std::string fixture = "modernbert_masked";
  const TemporaryDirectory directory;
  for (const char* const file : {"tokenizer.json", "tokenizer_config.json"}) {
    directory.Write(file, ReadFile(ParityPath(fixture, "hf") + "/" + file));
  }
  directory.Write("config.json", config);
  directory.Write("model.safetensors", tensors);
  RunnableModel model(directory.path(), {.arithmetic = Arithmetic::kBF16});
  return SparseWeights(model, ReadTexts(fixture));
}

// Its decoder has a bias unless its config.json says otherwise; what the file has is nothing then.
TEST(ModernBertHeadTest, TheDecodersBiasMayBeLeftOut) {
  const std::string hf = ParityPath("modernbert_masked", "hf");
  const std::string config = ReadFile(hf + "/config.json");
  const std::string without =
      Replaced(config, R"("decoder_bias": true)", R"("decoder_bias": false)");
  const std::string tensors = ReadFile(hf + "/model.safetensors");
  std::string zeros = tensors;  // the bias comes first, 264 numbers of two bytes
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, tensors.data(), sizeof(header_bytes));
  std::fill_n(zeros.begin() + static_cast<ptrdiff_t>(sizeof(header_bytes) + header_bytes), 528,
              '\0');
  const Rows expected = WeightsWith(config, zeros);
  EXPECT_NE(WeightsWith(config, tensors), expected);
  EXPECT_EQ(WeightsWith(without, Replaced(tensors, "decoder.bias", "decoder.none")), expected);
  EXPECT_EQ(WeightsWith(without, tensors), expected);
}

std::string NameOf(const testing::TestParamInfo<const char*>& parameter) { return parameter.param; }

INSTANTIATE_TEST_SUITE_P(Architectures, ClassifierTest, testing::ValuesIn(kClassifierFixtures),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Architectures, EncoderTest, testing::ValuesIn(kEncoderFixtures), NameOf);
INSTANTIATE_TEST_SUITE_P(Architectures, MaskedHeadTest, testing::ValuesIn(kMaskedFixtures), NameOf);
INSTANTIATE_TEST_SUITE_P(Architectures, GgufEncoderTest, testing::ValuesIn(kEncoderFixtures),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(ArchitecturesWithoutGguf, EncoderTest,
                         testing::ValuesIn(kEncoderFixturesWithoutGguf), NameOf);

}  // namespace
}  // namespace weft
