// An 8-bit KV cache changes next to nothing.
#include "tests/model/kv_accuracy.h"

#include <filesystem>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(KvAccuracy, EightBitsAreAsGoodAsBf16OnTheBundledModel) {
  const std::string model = std::string(WEFT_SOURCE_DIR) + "/model/demo/weft-demo.gguf";
  const std::string text = std::string(WEFT_SHARED_DATA) + "/text/wikitext-2-test.txt";
  if (!std::filesystem::exists(text)) GTEST_SKIP() << text << " is absent";
  const KvAccuracy found = MeasureKvAccuracy(model, text, kAutoArithmetic, 256, 4);
  EXPECT_LT(found.mean_kl, 0.002);
  EXPECT_GT(found.mean_kl, 0);  // q8 was at work
  EXPECT_GT(found.equal_top, 0.97);
  EXPECT_NEAR(found.mean_nll_q8, found.mean_nll_bf16, 0.01);
}

}  // namespace
}  // namespace weft
