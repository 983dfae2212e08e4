// The causal mask: p(x_1 .. x_n) = product of p(x_t | x_1 .. x_(t-1)) needs that what is computed
// at a position reads no later one (Vaswani et al., 2017, arXiv:1706.03762, section 3.2.3: "to
// preserve the auto-regressive property"). In exact arithmetic a masked score counts nothing; here
// the future changes no bit of the past, through all of the forward pass: a masked slot is not
// multiplied by zero but not read, and rows that are computed together are not rounded together.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/kernels/tables_here.h"
#include "tests/model/model_fixture.h"

namespace weft {
namespace {

// Of each way to attend and to mix along a row, one.
constexpr const char* kFixtures[] = {
    "llama3",       // rotary positions, grouped heads
    "gpt2",         // learned positions
    "bloom",        // slopes by distance
    "xglm",         // sinusoids
    "gemma2",       // windows and soft caps
    "gpt_oss",      // sinks and experts
    "deepseek_v2",  // latent attention
    "llama4",       // chunks
};

std::vector<TokenId> Tokens(int64_t count, int64_t vocab_size) {
  std::vector<TokenId> tokens;
  for (int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<TokenId>((i * i * 5 + 11 * i + 3) % vocab_size));
  }
  return tokens;
}

class CausalityTest : public testing::TestWithParam<const char*> {
 protected:
  // All rows in one step, so that past and future are computed together.
  static void ExpectPastUntouched(const KernelTable& kernels) {
    RunnableModel model(ParityPath(GetParam(), "hf"),
                        {.arithmetic = kernels.arithmetic,
                         .kv_type = kernels.kv_type,
                         .thread_count = 2,
                         .adjust_kernels = [&](KernelTable& table) { table = kernels; }});
    const int64_t vocab_size = model.spec().vocab_size;
    const std::vector<TokenId> tokens =
        Tokens(std::min<int64_t>(48, model.spec().context_length), vocab_size);
    const auto before = model.RunSequence(tokens);
    for (const size_t changed : {size_t{1}, tokens.size() / 2, tokens.size() - 1}) {
      std::vector<TokenId> other = tokens;
      for (size_t i = changed; i < other.size(); ++i) {
        other[i] = static_cast<TokenId>((other[i] + 1) % vocab_size);
      }
      const auto after = model.RunSequence(other);
      for (size_t row = 0; row < tokens.size(); ++row) {
        EXPECT_EQ(after[row] == before[row], row < changed)
            << kernels.name << ", row " << row << ", changed from " << changed;
      }
    }
  }
};

TEST_P(CausalityTest, TheFutureChangesNoBitOfThePast) {
  for (const KvType kv_type : {KvType::kBF16, KvType::kQ8}) {
    for (const KernelTable& kernels : TablesHere(Arithmetic::kBF16, kv_type)) {
      ExpectPastUntouched(kernels);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, CausalityTest, testing::ValuesIn(kFixtures),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace weft
