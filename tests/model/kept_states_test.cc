// States of fixed size in their blocks: where a step leaves them, and that what is kept stays.
#include <vector>

#include <gtest/gtest.h>

#include "model/forward_batch.h"
#include "tests/model/parity_fixture.h"

namespace weft {
namespace {

using Rows = std::vector<std::vector<float>>;

constexpr int64_t kBlock = 16;

class KeptStatesTest : public testing::TestWithParam<const char*> {
 protected:
  KeptStatesTest()
      : model_(ParityPath(GetParam(), "hf"), {.arithmetic = Arithmetic::kBF16,
                                              .isa = ChooseIsa().value(),
                                              .thread_count = 3,
                                              .block_size = kBlock}) {
    for (TokenId i = 0; i < 3 * kBlock + 5; ++i) tokens_.push_back(i * i % 251);
    expected_ = model_.RunSequence(tokens_);
  }

  // The rows of positions [first, end), of which attention has the blocks 0, 1, 2, ...
  Rows Run(int64_t first, int64_t end, const std::vector<int32_t>& states) {
    const Chunk chunk{.tokens = {tokens_.begin() + first, tokens_.begin() + end},
                      .first_position = static_cast<int32_t>(first),
                      .block_table = {0, 1, 2, 3},
                      .other_tables = {states}};
    return model_.Run({&chunk, 1});
  }
  Rows Expected(int64_t first, int64_t end) const {
    return {expected_.begin() + first, expected_.begin() + end};
  }

  std::vector<TokenId> tokens_;
  RunnableModel model_;
  Rows expected_;
};

TEST_P(KeptStatesTest, AStepLeavesAStateWhereTheTableHasAPlace) {
  const std::vector<int32_t> tables[] = {{4, 5, 6, 7},
                                         {kNoBlock, kNoBlock, kNoBlock, 7},
                                         {kNoBlock, 5, kNoBlock, 7},
                                         {4, kNoBlock, kNoBlock, 7}};
  const int64_t end = std::ssize(tokens_);
  for (const std::vector<int32_t>& states : tables) {
    EXPECT_EQ(Run(0, end - 1, states), Expected(0, end - 1));
    EXPECT_EQ(Run(end - 1, end, states), Expected(end - 1, end));
  }
}

TEST_P(KeptStatesTest, WhatIsKeptServesOthersAndStays) {
  Run(0, 2 * kBlock, {4, 5});
  for (const int32_t last : {8, 9}) {
    Run(2 * kBlock, 2 * kBlock + 3, {kNoBlock, 5, last});
    EXPECT_EQ(Run(2 * kBlock + 3, 3 * kBlock, {kNoBlock, kNoBlock, last}),
              Expected(2 * kBlock + 3, 3 * kBlock));
  }
  EXPECT_EQ(Run(kBlock, 2 * kBlock, {4, 10}), Expected(kBlock, 2 * kBlock));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, KeptStatesTest,
                         testing::Values("lfm2", "qwen3_5", "qwen3_next", "qwen3_5_moe"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace weft
