// What single requests get, and how failures stay with those they belong to; one step at a time.
#include "engine/engine_core.h"

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/engine_core_fixture.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST_F(EngineCoreTest, EndsAtMaxTokens) {
  const auto sink = Add(MakeRequest({0, 1}, 3));
  Finish();
  EXPECT_EQ(sink->complaint(), "");
  EXPECT_EQ(sink->choice().text, "cde");
  EXPECT_EQ(sink->choice().tokens, (std::vector<TokenId>{2, 3, 4}));
  const FinishEvent& finish = sink->choice().finishes.at(0);
  EXPECT_EQ(finish.reason, FinishReason::kLength);
  EXPECT_EQ(finish.prompt_tokens, 2);
  EXPECT_EQ(finish.completion_tokens, 3);
  EXPECT_TRUE(finish.last);
}

TEST_F(EngineCoreTest, EndTokenEndsTheTextAndIsCountedButNotShown) {
  options_.end_tokens = {4};
  const auto sink = Add(MakeRequest({0, 1}, 10));
  Finish();
  EXPECT_EQ(sink->choice().text, "cd");
  const FinishEvent& finish = sink->choice().finishes.at(0);
  EXPECT_EQ(finish.reason, FinishReason::kStop);
  EXPECT_EQ(finish.stop_token, 4);
  EXPECT_EQ(finish.completion_tokens, 3);
}

TEST_F(EngineCoreTest, IgnoreEosMakesEndTokensOrdinaryAndStopTokensStillStop) {
  options_.end_tokens = {4};
  Request request = MakeRequest({0, 1}, 10);
  request.sampling.ignore_eos = true;
  request.sampling.stop_token_ids = {6};
  const auto sink = Add(request);
  Finish();
  EXPECT_EQ(sink->choice().text, "cdef");
  EXPECT_EQ(sink->choice().finishes.at(0).stop_token, 6);
}

TEST_F(EngineCoreTest, BeforeMinTokensEndTokensAreNotSampledAndStopStringsNotMatched) {
  options_.end_tokens = {3};
  Request request = MakeRequest({0, 1}, 10);
  request.sampling.min_tokens = 4;
  request.sampling.stop = {"ab", "bc"};
  const auto sink = Add(request);
  Finish();
  // d is banned at the second place, so that the lowest of the other ids, a, comes; "ab" ends at
  // the third token, "bc" at the fourth.
  EXPECT_EQ(sink->choice().tokens, (std::vector<TokenId>{2, 0, 1, 2}));
  EXPECT_EQ(sink->choice().text, "ca");
  EXPECT_EQ(sink->choice().finishes.at(0).stop_string, "bc");
}

TEST_F(EngineCoreTest, StopStringCutsTheTextAndHeldBackTextComesAtTheEnd) {
  Request request = MakeRequest({0}, 10);
  request.sampling.stop = {"defx", "fg"};
  const auto sink = Add(request);
  Finish();
  EXPECT_EQ(sink->choice().text, "bcde");
  EXPECT_EQ(sink->choice().tokens.size(), 6U);
  EXPECT_EQ(sink->choice().finishes.at(0).reason, FinishReason::kStop);
  EXPECT_EQ(sink->choice().finishes.at(0).stop_string, "fg");

  request = MakeRequest({0}, 3);
  request.sampling.stop = {"cdefg"};
  const auto cut = Add(request);
  Finish();
  EXPECT_EQ(cut->choice().text, "bcd");
  EXPECT_EQ(cut->choice().finishes.at(0).reason, FinishReason::kLength);
}

TEST_F(EngineCoreTest, TokensWithoutTextHaveOneForTheRequestThatWantsIt) {
  options_.token_bytes = [](TokenId token) {
    return token == 3 ? std::string_view()
                      : std::string_view("abcdefgh").substr(static_cast<size_t>(token), 1);
  };
  Request request = MakeRequest({0}, 4);
  const auto without = Add(request);
  request.id = next_id_++;
  request.visible_tokens =
      std::make_shared<const VisibleTokens>(VisibleTokens{{2, "never"}, {3, "<tag>"}});
  const auto with = Add(request);
  Finish();
  EXPECT_EQ(without->choice().text, "bce");
  EXPECT_EQ(with->choice().text, "bc<tag>e");
}

TEST_F(EngineCoreTest, AbortHandsOutHeldBackText) {
  Request request = MakeRequest({0}, 10);
  request.sampling.stop = {"cdefg"};
  const auto sink = Add(request);
  core().Step();
  core().Step();
  EXPECT_EQ(sink->choice().text, "b");
  core().Abort(1);
  EXPECT_EQ(sink->choice().text, "bc");
  EXPECT_EQ(sink->choice().finishes.at(0).reason, FinishReason::kAborted);
  EXPECT_FALSE(core().has_work());
  EXPECT_EQ(core().pools().used_count(), 0);
}

TEST_F(EngineCoreTest, ChoicesDifferAndTheFirstIsWhatASingleOneGets) {
  runner_.fill_logits = [](uint64_t hash, TokenId, int32_t, float* logits) {
    for (int32_t i = 0; i < kVocab; ++i)
      logits[i] = static_cast<float>(Mix(hash + static_cast<uint64_t>(i)) % 4);
  };
  Request request = MakeRequest({7, 8, 9, 7, 8}, 12);
  request.sampling.temperature = 1;
  request.sampling.seed = 5;
  const auto single = Add(request);
  request.id = next_id_++;
  request.choice_count = 3;
  const auto three = Add(request);
  Finish();
  EXPECT_EQ(three->complaint(), "");
  EXPECT_EQ(three->choice(0).tokens, single->choice().tokens);
  EXPECT_NE(three->choice(1).tokens, three->choice(0).tokens);
  EXPECT_NE(three->choice(2).tokens, three->choice(1).tokens);
}

TEST_F(EngineCoreTest, ChoicesShareTheirPromptsBlocks) {
  options_.max_sequences = 3;
  Request request = MakeRequest({1, 2, 3, 4, 5, 6}, 2);  // one whole block and a half
  request.choice_count = 3;
  Add(request);
  core().Step();
  EXPECT_EQ(core().pools().used_count(), 2);
  core().Step();  // would write into the second block: two copies
  EXPECT_EQ(core().scheduler().running().size(), 0U);
  EXPECT_EQ(core().TakeReport().generated_tokens, 3);
}

TEST_F(EngineCoreTest, EchoWithoutGenerationGivesPromptLogprobs) {
  Request request = MakeRequest({3, 4, 9}, 0);
  request.sampling.prompt_logprobs = true;
  request.sampling.logprobs = 2;
  const auto sink = Add(request);
  Finish();
  EXPECT_EQ(sink->complaint(), "");
  ASSERT_EQ(sink->prompt_logprobs().size(), 3U);
  const auto& logprobs = sink->prompt_logprobs();
  EXPECT_EQ(logprobs[0].token, 3);
  EXPECT_EQ(logprobs[0].logprob, 0);
  EXPECT_TRUE(logprobs[0].top.empty());
  EXPECT_NEAR(logprobs[1].logprob, 0, 1e-6);    // 4 follows 3
  EXPECT_NEAR(logprobs[2].logprob, -20, 1e-5);  // 9 does not follow 4
  EXPECT_EQ(logprobs[2].top.at(0).first, 5);
  EXPECT_EQ(logprobs[2].top.at(1).first, 0);
  EXPECT_EQ(sink->choice().finishes.at(0).reason, FinishReason::kLength);
  EXPECT_EQ(sink->choice().finishes.at(0).completion_tokens, 0);
}

TEST_F(EngineCoreTest, LogprobsAreOfTheDistributionBeforeTemperature) {
  runner_.fill_logits = [](uint64_t, TokenId, int32_t, float* logits) {
    std::fill_n(logits, kVocab, -1000.0F);
    logits[2] = std::log(3.0F);
    logits[5] = 0;
  };
  Request request = MakeRequest({0}, 1);
  request.sampling.temperature = 0;
  request.sampling.logprobs = 3;
  const auto sink = Add(request);
  Finish();
  const TokenLogprob& logprob = sink->choice().logprobs.at(0);
  EXPECT_EQ(logprob.token, 2);
  EXPECT_NEAR(logprob.logprob, std::log(0.75), 1e-6);
  EXPECT_EQ(logprob.top.at(0).first, 2);
  EXPECT_NEAR(logprob.top.at(1).second, std::log(0.25), 1e-6);
  EXPECT_EQ(logprob.top.at(2).first, 0);  // equal to many: the lowest id
}

TEST_F(EngineCoreTest, NotFiniteLogitsFailThatRequestOnly) {
  for (const float poison : {std::nanf(""), std::numeric_limits<float>::infinity(),
                             -std::numeric_limits<float>::infinity()}) {
    runner_.fill_logits = [poison](uint64_t, TokenId token, int32_t, float* logits) {
      std::fill_n(logits, kVocab, 0.0F);
      logits[(token + 1) % kVocab] = 20;
      if (token == 12) logits[25] = poison;
    };
    Request request = MakeRequest({10}, 8);
    request.choice_count = 2;
    const auto poisoned = Add(request);
    const auto healthy = Add(MakeRequest({0}, 8));
    Finish();
    EXPECT_EQ(poisoned->complaint(), "");
    for (size_t choice : {0U, 1U}) {
      EXPECT_EQ(poisoned->choice(choice).finishes.at(0).reason, FinishReason::kFailed);
      EXPECT_THAT(poisoned->choice(choice).finishes.at(0).error.message, HasSubstr("not finite"));
      EXPECT_EQ(poisoned->choice(choice).text, "lm");
    }
    EXPECT_EQ(healthy->choice().text, "bcdefghi");
  }
}

TEST_F(EngineCoreTest, FailedStepFailsItsRequestsAndTheEngineGoesOn) {
  for (const bool throws : {false, true}) {
    const auto first = Add(MakeRequest({0}, 8));
    core().Step();
    options_.max_batch_tokens = 16;
    runner_.before_run = [&](const ForwardBatch&) -> Result<void> {
      if (throws) throw std::runtime_error("broken");
      return Fail(ErrorCode::kInternal, "broken");
    };
    core().Step();
    EXPECT_EQ(first->choice().finishes.at(0).reason, FinishReason::kFailed);
    EXPECT_THAT(first->choice().finishes.at(0).error.message, HasSubstr("broken"));
    EXPECT_EQ(core().pools().used_count(), 0);
    runner_.before_run = nullptr;
    const auto second = Add(MakeRequest({0}, 2));
    Finish();
    EXPECT_EQ(second->choice().text, "bc");
  }
}

TEST_F(EngineCoreTest, FailedStepSparesRequestsThatWait) {
  options_.max_sequences = 1;
  runner_.before_run = [](const ForwardBatch&) -> Result<void> {
    return Fail(ErrorCode::kInternal, "broken");
  };
  const auto failed = Add(MakeRequest({0}, 2));
  const auto spared = Add(MakeRequest({0}, 2));
  core().Step();
  runner_.before_run = nullptr;
  Finish();
  EXPECT_EQ(failed->choice().finishes.at(0).reason, FinishReason::kFailed);
  EXPECT_EQ(spared->choice().text, "bc");
}

TEST_F(EngineCoreTest, AnIdInUseFailsTheNewcomer) {
  Request request = MakeRequest({0}, 2);
  const auto first = Add(request);
  request.choice_count = 2;
  const auto second = Add(request);
  EXPECT_EQ(second->complaint(), "");
  EXPECT_TRUE(second->finished());
  EXPECT_EQ(second->choice().finishes.at(0).reason, FinishReason::kFailed);
  Finish();
  EXPECT_EQ(first->choice().text, "bc");
  EXPECT_EQ(core().TakeReport().finished_requests, 2);
}

TEST_F(EngineCoreTest, DeadlinesAbort) {
  const auto now = std::chrono::steady_clock::now();
  Request request = MakeRequest({0}, 8);
  request.deadline = now + std::chrono::hours(1);
  const auto timed = Add(request);
  const auto patient = Add(MakeRequest({0}, 3));
  core().AbortExpired(now);
  core().Step();
  core().AbortExpired(now + std::chrono::hours(1));
  EXPECT_EQ(timed->choice().finishes.at(0).reason, FinishReason::kAborted);
  EXPECT_EQ(timed->choice().text, "b");
  Finish();
  EXPECT_EQ(patient->choice().text, "bcd");
}

TEST_F(EngineCoreTest, LowerPriorityNumberGoesFirst) {
  options_.max_sequences = 1;
  Request late = MakeRequest({0}, 2);
  Request early = MakeRequest({0}, 2);
  early.priority = -1;
  const auto second = Add(late);
  const auto first = Add(early);
  core().Step();
  EXPECT_EQ(first->choice().text, "b");
  EXPECT_EQ(second->choice().text, "");
  Finish();
}

TEST_F(EngineCoreTest, RefusesWhatCanNeverBeServedAndSaysWhy) {
  EXPECT_EQ(Refusal(MakeRequest({}, 1)), "the prompt is empty, but must have a token");
  EXPECT_THAT(Refusal(MakeRequest({0, 26}, 1)), HasSubstr("token id 26"));
  EXPECT_THAT(Refusal(MakeRequest({0, -1}, 1)), HasSubstr("token id -1"));
  EXPECT_EQ(Refusal(MakeRequest(std::vector<TokenId>(60, 0), 5)),
            "the prompt's 60 tokens and max_tokens 5 make 65, but the context has 64 positions");
  EXPECT_EQ(Refusal(MakeRequest(std::vector<TokenId>(60, 0), 4)), "accepted");
  EXPECT_THAT(Refusal(MakeRequest({0}, std::numeric_limits<int32_t>::max())),
              HasSubstr("make 2147483648"));
  Request request = MakeRequest({0}, 1);
  request.choice_count = 5;
  EXPECT_EQ(Refusal(request), "the number of choices is 5, but must be from 1 to 4");
  request.choice_count = 0;
  EXPECT_THAT(Refusal(request), HasSubstr("choices is 0"));
}

TEST_F(EngineCoreTest, RefusesWhatExceedsAllBlocks) {
  options_.max_context = 1000;
  EXPECT_EQ(Refusal(MakeRequest(std::vector<TokenId>(60, 0), 5)),
            "the prompt's 60 tokens and max_tokens 5 make 65, but the KV cache has room for 64");
  const auto sink = Add(MakeRequest(std::vector<TokenId>(60, 0), 4));
  Finish();
  EXPECT_EQ(sink->choice().tokens.size(), 4U);
}

TEST_F(EngineCoreTest, ReportsCountPhasesAndQueue) {
  options_.max_sequences = 1;
  Add(MakeRequest(std::vector<TokenId>(20, 0), 2));
  Add(MakeRequest({0}, 1));
  core().Step();
  StepReport report = core().TakeReport();
  EXPECT_EQ(report.prompt_tokens, 16);
  EXPECT_EQ(report.generated_tokens, 0);
  EXPECT_EQ(report.running, 1);
  EXPECT_EQ(report.waiting, 1);
  EXPECT_EQ(report.used_blocks, 5);
  EXPECT_EQ(report.total_blocks, 16);
  EXPECT_EQ(core().TakeDequeuedCount(), 1);
  core().Step();
  core().Step();
  report = core().TakeReport();
  EXPECT_EQ(report.prompt_tokens, 4);
  EXPECT_EQ(report.generated_tokens, 1);
  EXPECT_EQ(report.finished_requests, 1);
  Finish();
  EXPECT_EQ(core().TakeDequeuedCount(), 1);
}

}  // namespace
}  // namespace weft
