// An 8-bit KV cache changes next to nothing.
#include "tests/model/kv_accuracy.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/data_paths.h"

namespace weft {
namespace {

// The text is foreign to the model, whose experts then change with the least of changes: scaling
// the scores by 1 + 10^-6 makes a mean of 0.0005 (0.002 in the int8 arithmetic), and bf16 instead
// of float32 throughout 0.003. The median is what 8 bits do where no expert changes.
TEST(KvAccuracy, EightBitsAreNearlyAsGoodAsBf16OnTheBundledModel) {
  const std::string model = SourcePath("model/demo/weft-demo.gguf");
  const std::string text = SharedDataPath("text/wikitext-2-test.txt");
  if (!std::filesystem::exists(text)) GTEST_SKIP() << text << " is absent";
  const KvAccuracy found = MeasureKvAccuracy(model, text, Arithmetic::kBF16, 256, 6);
  EXPECT_LT(found.mean_kl, 0.008);
  EXPECT_LT(found.median_kl, 0.001);
  EXPECT_GT(found.median_kl, 0);  // q8 was at work
  EXPECT_GT(found.equal_top, 0.96);
  EXPECT_NEAR(found.mean_nll_q8, found.mean_nll_bf16, 0.005);
}

}  // namespace
}  // namespace weft
