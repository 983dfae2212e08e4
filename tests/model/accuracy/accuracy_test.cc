// The definitions of the arithmetic on the bundled model: near float32, in the order in which
// docs/ACCURACY.md has them.
#include "tests/model/accuracy/accuracy.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/data_paths.h"
#include "tests/model/accuracy/quantize.h"
#include "tests/model/formats/gguf_builder.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST(Divergence, IsTheTextbooks) {
  const float half = std::log(0.5F);
  const float quarter = std::log(0.25F);
  const float three_quarters = std::log(0.75F);
  const Logits reference = {{half, half}, {quarter + 3, three_quarters + 3}};
  const Logits found = {{quarter, three_quarters}, {three_quarters, quarter}};
  const Divergence divergence = DivergenceFrom(reference, found);
  const double first = 0.5 * std::log(2.0) + 0.5 * std::log(2.0 / 3);
  const double second = 0.25 * std::log(1.0 / 3) + 0.75 * std::log(3.0);
  EXPECT_NEAR(divergence.mean_kl, (first + second) / 2, 1e-7);
  EXPECT_NEAR(divergence.worst_kl, second, 1e-7);
  EXPECT_EQ(divergence.same_top, 0);  // equal probabilities: the first token is the top
  EXPECT_EQ(DivergenceFrom(reference, reference).worst_kl, 0);
  EXPECT_EQ(DivergenceFrom(reference, reference).same_top, 1);
}

class DemoTest : public testing::Test {
 protected:
  // The bytes of the bundled model with its matrices in another type.
  std::string Requantized(DataType type) const {
    const std::string source = Contents(demo_);
    return std::string(AsText(RequantizeGguf(std::as_bytes(std::span(source)), type)));
  }

  const TemporaryDirectory directory_;
  const std::string demo_ = SourcePath("model/demo/weft-demo.gguf");
  // Any English text that does not change.
  const Windows windows_ =
      CutIntoWindows(*LoadCheckpoint(demo_)->tokenizer, Contents(SourcePath("LICENSE")), 256, 4);
};

// A model whose matrices are quantised while it is loaded computes what its quantised file does.
TEST_F(DemoTest, QuantisedWhileLoadingIsAsQuantisedInTheFile) {
  const std::string plain = Requantized(DataType::kF32);
  const std::string plain_path = directory_.Write("plain.gguf", plain);
  const std::string blocks_path = directory_.Write(
      "blocks.gguf", AsText(RequantizeGguf(std::as_bytes(std::span(plain)), DataType::kQ8_0)));
  const RunOptions options = {.arithmetic = Arithmetic::kInt8, .isa = ChooseIsa().value()};
  Checkpoint quantized = LoadOrThrow(plain_path);
  QuantizeMatrices(quantized.tensors, DataType::kQ8_0, MatrixId::kNone);
  const Logits expected = LogitsOf(blocks_path, options, windows_);
  EXPECT_EQ(LogitsOf(std::move(quantized), options, windows_), expected);
  EXPECT_NE(LogitsOf(plain_path, options, windows_), expected);
}

class AccuracyTest : public DemoTest, public testing::WithParamInterface<DataType> {
 protected:
  Logits Run(const std::string& path, Arithmetic arithmetic) const {
    return LogitsOf(path, {.arithmetic = arithmetic, .isa = ChooseIsa().value()}, windows_);
  }
};

TEST_P(AccuracyTest, DefinitionsAreNearFloat32) {
  ASSERT_EQ(windows_.size(), 4U);
  const std::string path = directory_.Write("model.gguf", Requantized(GetParam()));
  const Logits reference = Run(path, Arithmetic::kF32);
  const Divergence bf16 = DivergenceFrom(reference, Run(path, Arithmetic::kBF16));
  const Divergence int8 = DivergenceFrom(reference, Run(path, Arithmetic::kInt8));
  // Twice what was measured, and more: where rounding makes a router choose another expert, a
  // single position weighs as much as hundreds of others.
  EXPECT_GT(bf16.mean_kl, 0);
  EXPECT_LT(bf16.mean_kl, 0.006);
  EXPECT_GT(bf16.same_top, 0.96);
  EXPECT_GT(int8.mean_kl, 0);
  EXPECT_LT(int8.mean_kl, 0.008);
  EXPECT_GT(int8.same_top, 0.94);
}

INSTANTIATE_TEST_SUITE_P(Types, AccuracyTest,
                         testing::Values(DataType::kQ8_0, DataType::kQ4_0, DataType::kQ4_K,
                                         DataType::kQ6_K, DataType::kMXFP4),
                         [](const auto& test) { return std::string(TraitsOf(test.param).name); });

}  // namespace
}  // namespace weft
