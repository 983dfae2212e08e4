// What requests find of what others have computed, through the whole engine. The fake model checks
// every block that is read.
#include "engine/prefix_cache.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/prefix_cache_fixture.h"

namespace weft {
namespace {

TEST_F(PrefixCacheTest, ASecondRequestComputesWhatIsNewAlone) {
  Start();
  const Outcome first = Run(MakeRequest(Prompt(10), 3));
  EXPECT_EQ(first.cached(), 0);
  EXPECT_EQ(report_.cache_queries, 10);
  EXPECT_EQ(report_.cache_hits, 0);
  EXPECT_EQ(report_.prompt_tokens, 10);

  const Outcome again = Run(MakeRequest(Prompt(10), 3));
  EXPECT_EQ(again.cached(), 8);
  EXPECT_EQ(again.tokens(), first.tokens());
  EXPECT_EQ(report_.cache_queries, 10);
  EXPECT_EQ(report_.cache_hits, 8);
  EXPECT_EQ(report_.prompt_tokens, 2);
  EXPECT_EQ(report_.computed_prompt_tokens, 10);

  std::vector<TokenId> other = Prompt(10);
  other[5] = 28;
  EXPECT_EQ(Run(MakeRequest(other)).cached(), 4);
  other = Prompt(10);
  other[0] = 28;  // all that comes behind is something else now
  EXPECT_EQ(Run(MakeRequest(other)).cached(), 0);
}

TEST_F(PrefixCacheTest, TheLastPositionIsComputedForItsLogits) {
  Start();
  Run(MakeRequest(Prompt(8)));
  EXPECT_EQ(Run(MakeRequest(Prompt(8))).cached(), 4);
  EXPECT_EQ(Run(MakeRequest(Prompt(9))).cached(), 8);
  EXPECT_EQ(Run(MakeRequest(Prompt(1))).cached(), 0);
}

TEST_F(PrefixCacheTest, AnAnswerIsFoundByTheNextTurn) {
  Start();
  const Outcome first = Run(MakeRequest(Prompt(6), 11));
  std::vector<TokenId> turn = Prompt(6);
  turn.insert(turn.end(), first.tokens().begin(), first.tokens().end());
  turn.insert(turn.end(), {5, 6, 7});
  // 16 of its 17 tokens: the last one was sampled, but never computed.
  const Outcome second = Run(MakeRequest(turn, 5));
  EXPECT_EQ(second.cached(), 16);
  options_.prefix_cache = false;
  Start();
  EXPECT_EQ(Run(MakeRequest(turn, 5)).tokens(), second.tokens());
}

TEST_F(PrefixCacheTest, WhoeverWantsAllPositionsComputesThemAndKeepsThemForOthers) {
  Start();
  Request echo = MakeRequest(Prompt(10));
  echo.sampling.prompt_logprobs = true;
  const Outcome first = Run(echo);
  EXPECT_EQ(report_.cache_queries, 0);
  echo.id = next_id_++;
  const Outcome again = Run(echo);
  EXPECT_EQ(again.cached(), 0);
  EXPECT_EQ(again.sink->prompt_logprobs().size(), 10U);
  Request mean = MakeRequest(Prompt(10), 0);
  mean.pooling = {.pooling = Pooling::kMean};
  EXPECT_EQ(Run(mean).cached(), 0);
  Request last = MakeRequest(Prompt(10), 0);
  last.pooling = {.pooling = Pooling::kLast};
  const Outcome embedding = Run(last);
  EXPECT_EQ(embedding.cached(), 8);
  Request unwilling = MakeRequest(Prompt(10));
  unwilling.reads_prefix_cache = false;
  EXPECT_EQ(Run(unwilling).cached(), 0);
  EXPECT_EQ(report_.cache_queries, 0);

  options_.prefix_cache = false;
  Start();
  EXPECT_EQ(Run(last).sink->embedding(), embedding.sink->embedding());
}

TEST_F(PrefixCacheTest, SaltsKeepRequestsApart) {
  Start();
  Request salted = MakeRequest(Prompt(10));
  salted.cache_salt[0] = 1;
  Run(MakeRequest(Prompt(10)));
  EXPECT_EQ(Run(salted).cached(), 0);
  EXPECT_EQ(Run(salted).cached(), 8);
  salted.cache_salt[31] = 1;
  EXPECT_EQ(Run(salted).cached(), 0);
  EXPECT_EQ(Run(MakeRequest(Prompt(10))).cached(), 8);
}

TEST_F(PrefixCacheTest, NothingIsFoundWhereItIsOff) {
  options_.prefix_cache = false;
  Start();
  Run(MakeRequest(Prompt(10)));
  EXPECT_EQ(Run(MakeRequest(Prompt(10))).cached(), 0);
  EXPECT_EQ(report_.cache_queries, 0);
  EXPECT_EQ(report_.prompt_tokens, 10);
}

TEST_F(PrefixCacheTest, WhatAFailedStepComputedIsNotKept) {
  options_.max_batch_tokens = 8;
  Start();
  int32_t steps = 0;
  runner_->before_run = [&](const ForwardBatch&) -> Result<void> {
    if (++steps == 2) return Fail(ErrorCode::kInternal, "broken");
    return {};
  };
  const Outcome failed = Run(MakeRequest(Prompt(20)));
  EXPECT_EQ(failed.finish().reason, FinishReason::kFailed);
  EXPECT_EQ(Run(MakeRequest(Prompt(20))).cached(), 8);  // of the step before
}

TEST_F(PrefixCacheTest, RunningSequencesShareTheirBlocks) {
  Start();
  const Outcome first = Add(MakeRequest(Prompt(17), 30));
  core_->Step();
  EXPECT_EQ(core_->pools().used_count(), 5);
  const Outcome second = Add(MakeRequest(Prompt(18), 30));
  core_->Step();
  EXPECT_EQ(core_->pools().used_count(), 6);
  Finish();
  EXPECT_EQ(second.cached(), 16);
}

TEST_F(PrefixCacheTest, EqualRequestsThatComeTogetherComputeOnce) {
  options_.max_batch_tokens = 16;
  Start();
  std::vector<Outcome> outcomes;
  for (int i = 0; i < 4; ++i) outcomes.push_back(Add(MakeRequest(Prompt(62), 20)));
  const StepReport report = Finish();
  // What one computes, and the last block of each; nobody computed a whole chunk in vain.
  EXPECT_LE(report.prompt_tokens, 62 + 3 * 2);
  EXPECT_EQ(report.cache_queries, 4 * 62);
  EXPECT_EQ(report.cache_hits, 4 * 62 - report.prompt_tokens);
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.tokens(), outcomes[0].tokens());
}

TEST_F(PrefixCacheTest, ChoicesCountTheirPromptOnce) {
  Start();
  Run(MakeRequest(Prompt(10)));
  Request request = MakeRequest(Prompt(10), 6);
  request.choice_count = 3;
  const Outcome outcome = Run(request);
  for (size_t choice = 0; choice < 3; ++choice) EXPECT_EQ(outcome.finish(choice).cached_tokens, 8);
  EXPECT_EQ(report_.cache_queries, 10);
  EXPECT_EQ(report_.cache_hits, 8);
}

TEST_F(PrefixCacheTest, WhatWasPreemptedFindsItsOwnBlocksAndCountsNoHit) {
  Start(14);
  const Outcome older = Add(MakeRequest(Prompt(16, 1), 24));
  const Outcome newer = Add(MakeRequest(Prompt(16, 2), 24));  // 20 blocks together
  const StepReport report = Finish();
  EXPECT_GT(report.preemptions, 0);
  EXPECT_EQ(older.cached(), 0);
  EXPECT_EQ(newer.cached(), 0);
  EXPECT_EQ(report.cache_hits, 0);
  EXPECT_LT(report.prompt_tokens, 3 * 16);  // it did not compute all of its prompt again
  EXPECT_EQ(newer.tokens().size(), 24U);
}

TEST_F(PrefixCacheTest, TheOldestContentMakesRoomTailFirst) {
  Start(8);
  Run(MakeRequest(Prompt(13, 1)));  // 3 whole blocks
  Run(MakeRequest(Prompt(9, 2)));   // 2
  Run(MakeRequest(Prompt(21, 3)));  // takes 6: the other 3, then the end of the first one's
  EXPECT_EQ(Run(MakeRequest(Prompt(9, 2))).cached(), 8);
  EXPECT_EQ(Run(MakeRequest(Prompt(21, 3))).cached(), 20);
}

class WindowedPrefixCacheTest : public PrefixCacheTest {
 protected:
  static constexpr size_t kWindow = 1;  // the group

  // One group that keeps all and one that sees eight positions.
  void StartWithBoth(int64_t window_blocks = 64) {
    Start({{.block_count = 64}, {.window = 8, .block_count = window_blocks}});
  }
  // The group loses what it has of these blocks of a prompt, which has no salt: as if somebody else
  // had taken their memory meanwhile.
  void Evict(size_t group, const std::vector<TokenId>& prompt, int32_t first, int32_t end) {
    BlockPool& pool = const_cast<BlockPool&>(core_->pools()[group]);
    BlockHasher hasher;
    BlockDigest digest{};
    std::vector<int32_t> others;
    std::vector<BlockDigest> lost;
    for (int32_t i = 0; i < end; ++i) {
      digest = hasher.Digest(static_cast<uint32_t>(i), digest,
                             std::span(prompt).subspan(static_cast<size_t>(i) * kBlockSize,
                                                       static_cast<size_t>(kBlockSize)));
      if (i >= first) lost.push_back(digest);
    }
    for (int32_t block = 0; block < pool.total_count(); ++block) {
      const BlockDigest* content = pool.content(block);
      if (content == nullptr || std::ranges::count(lost, *content) > 0) continue;
      pool.AddReference(block);
      others.push_back(block);
    }
    while (const auto block = pool.Allocate()) others.push_back(*block);
    for (const int32_t block : others) pool.Release(block);
  }
};

TEST_F(WindowedPrefixCacheTest, OfAWindowWhatTheNextPositionSeesIsEnough) {
  StartWithBoth();
  const Outcome first = Run(MakeRequest(Prompt(40), 3));
  Evict(kWindow, Prompt(40), 0, 7);  // 9 are left but 2: position 36 sees 29 to 36
  const Outcome again = Run(MakeRequest(Prompt(40), 3));
  EXPECT_EQ(again.cached(), 36);
  EXPECT_EQ(again.tokens(), first.tokens());
}

TEST_F(WindowedPrefixCacheTest, AMissingBlockOfAWindowMovesTheEndBeforeIt) {
  StartWithBoth();
  Run(MakeRequest(Prompt(41), 1));
  Evict(kWindow, Prompt(41), 8, 9);
  EXPECT_EQ(Run(MakeRequest(Prompt(41), 1)).cached(), 32);
  // Computed again, it is there again.
  EXPECT_EQ(Run(MakeRequest(Prompt(41), 1)).cached(), 40);
  Evict(kWindow, Prompt(41), 3, 10);
  EXPECT_EQ(Run(MakeRequest(Prompt(41), 1)).cached(), 12);
  Evict(kWindow, Prompt(41), 0, 10);
  EXPECT_EQ(Run(MakeRequest(Prompt(41), 1)).cached(), 0);
}

TEST_F(WindowedPrefixCacheTest, AGroupThatKeepsAllNeedsTheWholeChain) {
  StartWithBoth();
  Run(MakeRequest(Prompt(41), 1));
  Evict(0, Prompt(41), 5, 6);
  EXPECT_EQ(Run(MakeRequest(Prompt(41), 1)).cached(), 20);
}

TEST_F(WindowedPrefixCacheTest, WithoutAGroupThatKeepsAllTheLastBlocksAreEnough) {
  Start({{.window = 8, .block_count = 64}});
  const Outcome first = Run(MakeRequest(Prompt(41), 9));
  Evict(0, Prompt(41), 0, 8);
  const Outcome again = Run(MakeRequest(Prompt(41), 9));
  EXPECT_EQ(again.cached(), 40);
  EXPECT_EQ(again.tokens(), first.tokens());
}

TEST_F(WindowedPrefixCacheTest, TwoWindowsAgreeOnAnEnd) {
  Start({{.window = 4, .block_count = 64}, {.window = 16, .block_count = 64}});
  const Outcome first = Run(MakeRequest(Prompt(41), 9));
  // The long one cannot go on behind 7 to 10 blocks, for want of number 6; the short one not behind
  // 6 or 5.
  Evict(1, Prompt(41), 6, 7);
  Evict(0, Prompt(41), 4, 6);
  const Outcome again = Run(MakeRequest(Prompt(41), 9));
  EXPECT_EQ(again.cached(), 16);
  EXPECT_EQ(again.tokens(), first.tokens());
}

TEST_F(WindowedPrefixCacheTest, WhatIsBehindTheWindowIsFree) {
  options_.max_batch_tokens = 8;
  StartWithBoth();
  int32_t most = 0;
  runner_->before_run = [&](const ForwardBatch&) -> Result<void> {
    most = std::max(most, core_->pools()[kWindow].used_count());
    return {};
  };
  Add(MakeRequest(Prompt(60), 20));
  Finish();
  EXPECT_EQ(most, 4);  // 7 positions, of two blocks, and the 8 of a step
}

// While another waits, half of the choices have no slot when their prompt is computed.
TEST_F(PrefixCacheTest, ChoicesThatComeLaterShareTheirPromptWhateverTheRequestReads) {
  constexpr int32_t kPrompt = 40;
  options_.max_sequences = 4;
  Start();
  const auto run = [&](bool reads_cache, bool prompt_logprobs) {
    Request many = MakeRequest(Prompt(kPrompt), 5);
    many.choice_count = 4;
    many.sampling.temperature = 1;
    many.sampling.seed = 7;
    many.reads_prefix_cache = reads_cache;
    many.sampling.prompt_logprobs = prompt_logprobs;
    Request other = MakeRequest(Prompt(3, 20), 30);
    Outcome outcome = Add(std::move(many));
    other.priority = 1;  // not ahead of the prompt, but of what waits
    Add(std::move(other));
    report_ = Finish();
    return outcome;
  };
  const Outcome shared = run(true, false);
  ASSERT_LT(report_.prompt_tokens, 2 * kPrompt);
  for (const bool prompt_logprobs : {false, true}) {
    for (const bool reads_cache : {false, true}) {
      if (reads_cache && !prompt_logprobs) continue;
      const Outcome outcome = run(reads_cache, prompt_logprobs);
      EXPECT_GE(report_.prompt_tokens, kPrompt);  // what others have computed does not count
      EXPECT_LT(report_.prompt_tokens, 2 * kPrompt);
      EXPECT_EQ(outcome.cached(), 0);
      for (size_t choice = 0; choice < 4; ++choice) {
        EXPECT_EQ(outcome.sink->choice(choice).tokens, shared.sink->choice(choice).tokens);
      }
    }
  }
}

}  // namespace
}  // namespace weft
