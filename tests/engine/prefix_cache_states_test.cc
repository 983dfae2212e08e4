// What requests find of what others have computed, where a model keeps states of fixed size.
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/prefix_cache_fixture.h"

namespace weft {
namespace {

class StatePrefixCacheTest : public PrefixCacheTest {
 protected:
  static constexpr size_t kStates = 1;  // the group

  void StartWithStates(int64_t state_count = 32, int64_t interval = 0) {
    Start({{.block_count = 128},
           {.is_recurrent = true,
            .window = 2,
            .block_count = state_count,
            .state_interval = interval}});
  }
  Request MakeTurn(std::vector<TokenId> prompt, int32_t shared_count, int32_t max_tokens = 1) {
    Request request = MakeRequest(std::move(prompt), max_tokens);
    request.shared_counts.prompt = shared_count;
    return request;
  }
  // The first tokens of a prompt, and others behind them.
  static std::vector<TokenId> Parting(int32_t shared_count, int32_t token_count, TokenId first) {
    std::vector<TokenId> prompt = Prompt(shared_count);
    const std::vector<TokenId> rest = Prompt(token_count - shared_count, first);
    prompt.insert(prompt.end(), rest.begin(), rest.end());
    return prompt;
  }
  int32_t CountKeptStates() const {
    const BlockPool& pool = core_->pools()[kStates];
    int32_t count = 0;
    for (int32_t block = 0; block < pool.total_count(); ++block) {
      count += pool.content(block) != nullptr ? 1 : 0;
    }
    return count;
  }
};

TEST_F(StatePrefixCacheTest, TheNextTurnGoesOnWhereThisOneAsksForAnAnswer) {
  StartWithStates();
  Run(MakeTurn(Prompt(42), 38, 3));
  EXPECT_EQ(report_.cache_stateless, 0);
  // It writes what follows position 38 in another way.
  EXPECT_EQ(Run(MakeTurn(Parting(38, 60, 5), 58)).cached(), 36);
  EXPECT_EQ(Run(MakeTurn(Parting(38, 60, 5), 58)).cached(), 56);
}

TEST_F(StatePrefixCacheTest, AnEditedMessageGoesOnWhereItBegins) {
  StartWithStates();
  Request turn = MakeTurn(Prompt(42), 38, 3);
  turn.shared_counts.before_message = 21;
  Run(turn);
  EXPECT_EQ(Run(MakeTurn(Parting(21, 40, 5), 38)).cached(), 20);
  EXPECT_EQ(report_.cache_stateless, 0);
}

TEST_F(StatePrefixCacheTest, AnAnswerIsFoundByATurnThatRepeatsIt) {
  StartWithStates();
  const Outcome first = Run(MakeTurn(Prompt(10), 8, 15));
  std::vector<TokenId> turn = Prompt(10);
  turn.insert(turn.end(), first.tokens().begin(), first.tokens().end());
  turn.insert(turn.end(), {5, 6, 7});
  const Outcome second = Run(MakeTurn(turn, 0, 5));
  EXPECT_EQ(second.cached(), 24);  // the last one was not computed
  options_.prefix_cache = false;
  StartWithStates();
  EXPECT_EQ(Run(MakeTurn(turn, 0, 5)).tokens(), second.tokens());
}

TEST_F(StatePrefixCacheTest, WherePromptsPartTheSecondLeavesAStateForTheThird) {
  StartWithStates();
  Run(MakeRequest(Prompt(41)));
  const Outcome second = Run(MakeRequest(Parting(22, 41, 5)));
  EXPECT_EQ(second.cached(), 0);
  EXPECT_EQ(report_.cache_stateless, 20);
  const Outcome third = Run(MakeRequest(Parting(22, 41, 6)));
  EXPECT_EQ(third.cached(), 20);
  EXPECT_EQ(report_.cache_stateless, 0);
}

TEST_F(StatePrefixCacheTest, PromptsThatComeTogetherComputeWhatTheyShareOnce) {
  options_.max_batch_tokens = 16;
  StartWithStates();
  std::vector<Outcome> outcomes;
  for (TokenId i = 0; i < 4; ++i) outcomes.push_back(Add(MakeRequest(Parting(50, 60, 20 + i), 9)));
  const StepReport report = Finish();
  EXPECT_EQ(report.prompt_tokens, 60 + 3 * (60 - 48));
  EXPECT_EQ(report.cache_hits, 3 * 48);
  options_.prefix_cache = false;
  StartWithStates();
  for (TokenId i = 0; i < 4; ++i) {
    EXPECT_EQ(Run(MakeRequest(Parting(50, 60, 20 + i), 9)).tokens(),
              outcomes[static_cast<size_t>(i)].tokens());
  }
}

TEST_F(StatePrefixCacheTest, NobodyWaitsForWhoIsBehind) {
  options_.max_batch_tokens = 16;
  StartWithStates();
  Run(MakeTurn(Prompt(120), 120));
  Request unwilling = MakeTurn(Prompt(120), 120);
  unwilling.reads_prefix_cache = false;
  const Outcome older = Add(unwilling);
  const Outcome newer = Add(MakeTurn(Prompt(119), 119));  // finds 116
  for (int i = 0; i < 3; ++i) core_->Step();
  EXPECT_TRUE(newer.sink->finished());
  EXPECT_FALSE(older.sink->finished());
  Finish();
}

TEST_F(StatePrefixCacheTest, WhatAnotherHasFoundStays) {
  options_.max_batch_tokens = 16;
  StartWithStates();
  const Outcome slow = Add(MakeTurn(Prompt(120), 120));
  core_->Step();
  core_->Step();  // leaves a state behind 32 on its way, and the next one not before its end
  const Outcome first = Add(MakeTurn(Parting(33, 39, 5), 33));
  core_->Step();
  EXPECT_TRUE(first.sink->finished());
  EXPECT_EQ(first.cached(), 32);
  Finish();
  EXPECT_EQ(Run(MakeTurn(Parting(33, 39, 6), 33)).cached(), 32);
}

TEST_F(StatePrefixCacheTest, PlacesAreForWhatAStepComputes) {
  options_.max_batch_tokens = 64;
  StartWithStates(28, kBlockSize);
  for (TokenId i = 0; i < 4; ++i) Run(MakeRequest(Prompt(16, i)));
  EXPECT_EQ(CountKeptStates(), 16);
  Add(MakeRequest(Prompt(140, 10)));
  Add(MakeRequest(Prompt(140, 11)));  // so that a step of unknown cost is small
  core_->Step();
  const int32_t computed = core_->TakeReport().prompt_tokens;
  EXPECT_LT(computed, 64);
  EXPECT_EQ(CountKeptStates(), 16 + computed / kBlockSize);
  Finish();
}

TEST_F(StatePrefixCacheTest, ALongPromptLeavesStatesOnItsWay) {
  options_.max_batch_tokens = 20;
  StartWithStates(32, 16);
  Run(MakeRequest(Prompt(100)));
  EXPECT_EQ(CountKeptStates(), 6 + 1);  // behind 16, 32, ..., and where it ended
  EXPECT_EQ(Run(MakeRequest(Parting(70, 90, 5))).cached(), 64);
}

TEST_F(StatePrefixCacheTest, OfStatesThatNobodyWantsTheLastOneIsLeft) {
  options_.max_batch_tokens = 8;
  StartWithStates();
  Run(MakeTurn(Prompt(64), 60, 60));  // 8 steps that end with a block, then 15 blocks of text
  EXPECT_EQ(CountKeptStates(), 2);
}

TEST_F(StatePrefixCacheTest, OfFewStatesTheOldestMakesRoom) {
  StartWithStates(4);
  for (TokenId first = 0; first < 5; ++first) {
    Run(MakeTurn(Prompt(30, first), 28));
    Run(MakeTurn(Prompt(30, first), 28));  // found
    EXPECT_EQ(report_.cache_hits, 28);
  }
  Run(MakeTurn(Prompt(30, 0), 28));
  EXPECT_LT(report_.cache_hits, 28);
}

TEST_F(StatePrefixCacheTest, WhatWasPreemptedGoesOnFromItsOwnState) {
  Start({{.block_count = 14}, {.is_recurrent = true, .window = 2, .block_count = 12}});
  const Outcome older = Add(MakeRequest(Prompt(16, 1), 24));
  const Outcome newer = Add(MakeTurn(Prompt(16, 2), 13, 24));
  const StepReport report = Finish();
  EXPECT_GT(report.preemptions, 0);
  EXPECT_EQ(report.cache_hits, 0);
  EXPECT_LT(report.prompt_tokens, 3 * 16);
  EXPECT_EQ(newer.tokens().size(), 24U);
}

TEST_F(StatePrefixCacheTest, WithoutAGroupThatKeepsAllStatesAreEnough) {
  Start({{.is_recurrent = true, .window = 2, .block_count = 8}});
  const Outcome first = Run(MakeTurn(Prompt(41), 38, 9));
  const Outcome again = Run(MakeTurn(Prompt(41), 38, 9));
  EXPECT_EQ(again.cached(), 36);
  EXPECT_EQ(again.tokens(), first.tokens());
  EXPECT_EQ(report_.cache_stateless, 4);
}

TEST_F(StatePrefixCacheTest, WithoutAGroupThatKeepsAllPromptsPartWhereOneWasComputed) {
  Start({{.is_recurrent = true, .window = 2, .block_count = 16}});
  Run(MakeRequest(Prompt(41)));
  EXPECT_EQ(Run(MakeRequest(Parting(22, 41, 5))).cached(), 0);
  EXPECT_EQ(report_.cache_stateless, 20);
  EXPECT_EQ(Run(MakeRequest(Parting(22, 41, 6))).cached(), 20);
}

}  // namespace
}  // namespace weft
