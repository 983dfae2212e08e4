// Requests whose text must keep to something: what is sampled, and what the client hears of it.
#include "engine/token_constraint.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine_core.h"
#include "engine/sampler.h"
#include "tests/engine/fake_model_runner.h"
#include "tests/engine/letter_constraint.h"
#include "tests/engine/recording_sink.h"
#include "tests/engine/requests.h"

namespace weft {
namespace {

// Tokens 0 to 7 are letters and longer pieces, 8 has no text, 9 ends. The model likes `favourite`,
// then the others in the order of their ids.
class TokenConstraintTest : public ::testing::Test {
 protected:
  static constexpr TokenId kA = 0;
  static constexpr TokenId kC = 2;
  static constexpr TokenId kD = 3;
  static constexpr TokenId kSilent = 8;
  static constexpr TokenId kEnd = 9;
  static constexpr int32_t kVocab = 10;

  TokenConstraintTest() : runner_({.vocab_size = kVocab, .block_size = 4, .block_count = 32}) {
    options_.max_context = 64;
    options_.max_batch_tokens = 16;
    options_.max_sequences = 4;
    options_.end_tokens = {kEnd};
    options_.token_bytes = BytesOf;
    runner_.fill_logits = [this](uint64_t, TokenId, int32_t, float* logits) {
      for (int32_t i = 0; i < kVocab; ++i) logits[i] = static_cast<float>(-i);
      logits[favourite_] = 20;
    };
  }

  static std::string_view BytesOf(TokenId token) {
    constexpr std::string_view kBytes[] = {"a", "b", "c", "d", "da", "ad", "dac", "ca", "", ""};
    return kBytes[static_cast<size_t>(token)];
  }

  Request MakeRequest(int32_t max_tokens) {
    Request request = GreedyRequest(next_id_++, {kD}, max_tokens);
    request.constraint = std::make_shared<const LetterConstraint>(BytesOf, kVocab);
    return request;
  }

  std::shared_ptr<RecordingSink> Run(Request request) {
    if (!core_) core_.emplace(options_, runner_);
    auto sink = AddRecorded(*core_, std::move(request));
    while (core_->has_work()) core_->Step();
    EXPECT_EQ(sink->complaint(), "");
    return sink;
  }

  TokenId favourite_ = kA;
  FakeModelRunner runner_;
  EngineOptions options_;
  std::optional<EngineCore> core_;
  RequestId next_id_ = 1;
};

TEST_F(TokenConstraintTest, OnlyWhatIsAllowedIsSampled) {
  Request free = MakeRequest(4);
  free.constraint = nullptr;
  EXPECT_EQ(Run(free)->choice().text, "aaaa");
  EXPECT_EQ(Run(MakeRequest(4))->choice().text, "abab");
}

TEST_F(TokenConstraintTest, ATokenThatGoesAstrayOnItsWayIsDrawnAgain) {
  favourite_ = 5;  // "ad": nothing has to be asked before it comes
  EXPECT_EQ(Run(MakeRequest(4))->choice().text, "abab");
  favourite_ = 6;  // "dac" passes
  EXPECT_EQ(Run(MakeRequest(2))->choice().text, "dacdac");
  favourite_ = 4;  // "da" leaves it where a "b" must come
  EXPECT_EQ(Run(MakeRequest(3))->choice().text, "dabda");
  favourite_ = 7;  // "ca" passes both before and behind an "a"
  EXPECT_EQ(Run(MakeRequest(3))->choice().text, "cacaca");
}

TEST_F(TokenConstraintTest, TheTextEndsWhereItMay) {
  favourite_ = kEnd;
  EXPECT_EQ(Run(MakeRequest(4))->choice().finishes.at(0).stop_token, kEnd);
  Request begun = MakeRequest(4);
  begun.sampling.min_tokens = 1;
  EXPECT_EQ(Run(begun)->choice().text, "ab");
  begun = MakeRequest(4);
  begun.sampling.min_tokens = 1;
  begun.sampling.stop_token_ids = {1};  // "b", which is in the way
  EXPECT_EQ(Run(begun)->choice().text, "ac");
  favourite_ = kSilent;  // adds nothing
  begun = MakeRequest(4);
  begun.sampling.bad_words = {{kSilent, kSilent}};
  EXPECT_EQ(Run(begun)->choice().tokens, (std::vector<TokenId>{kSilent, kA, 1, kSilent}));
}

TEST_F(TokenConstraintTest, VisibleTokensAreText) {
  favourite_ = kSilent;
  Request request = MakeRequest(3);
  request.sampling.min_tokens = 1;
  const auto set_text = [&](std::string text) {
    request.visible_tokens = std::make_shared<const VisibleTokens>(VisibleTokens{{kSilent, text}});
    request.constraint = std::make_shared<const LetterConstraint>(
        [text](TokenId token) { return token == kSilent ? text : BytesOf(token); }, kVocab);
  };
  set_text("ba");
  EXPECT_EQ(Run(request)->choice().text, "bababa");
  request = MakeRequest(3);
  set_text("ab<a");
  EXPECT_EQ(Run(request)->choice().text, "ab<abab<a");
}

TEST_F(TokenConstraintTest, EveryChoiceHasComeAsFarAsItsOwnText) {
  Request request = MakeRequest(12);
  request.sampling.temperature = 5;
  request.sampling.ignore_eos = true;
  request.choice_count = 4;
  const auto sink = [&] {
    if (!core_) core_.emplace(options_, runner_);
    auto recorded = AddRecorded(*core_, request);
    while (core_->has_work()) core_->Step();
    return recorded;
  }();
  std::vector<std::string> texts;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(LetterConstraint::IsKept(sink->choice(i).text)) << sink->choice(i).text;
    texts.push_back(sink->choice(i).text);
  }
  std::ranges::sort(texts);
  EXPECT_EQ(std::ranges::adjacent_find(texts), texts.end());
}

TEST_F(TokenConstraintTest, LogprobsAreTheModels) {
  Request request = MakeRequest(2);
  request.sampling.logprobs = 1;
  const auto sink = Run(request);
  EXPECT_EQ(sink->choice().text, "ab");
  const TokenLogprob& second = sink->choice().logprobs.at(1);
  EXPECT_EQ(second.rank, 2);
  EXPECT_EQ(second.top.at(0).first, kA);
}

TEST_F(TokenConstraintTest, WhereNothingIsLeftTheRequestFailsAndSaysWhy) {
  Request request = MakeRequest(4);
  request.sampling.allowed_token_ids = {kA, kD};
  const auto sink = Run(request);
  const FinishEvent& finish = sink->choice().finishes.at(0);
  EXPECT_EQ(sink->choice().text, "a");
  EXPECT_EQ(finish.reason, FinishReason::kFailed);
  EXPECT_EQ(finish.error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(
      finish.error.message,
      "min_tokens, allowed_token_ids, bad_words and the form that the text must have leave no "
      "token to generate after 1 generated ones");
}

// What a mask leaves out is as good as banned, whatever the chain does.
TEST(ConstrainedSampler, AMaskExcludesBeforeTheChain) {
  std::vector<float> logits(70, -2);  // three words of a mask, the last of them not full
  for (size_t i = 0; i < logits.size(); i += 3) logits[i] = static_cast<float>(i % 7);
  std::vector<TokenId> refused = {0, 3, 7, 69};
  for (TokenId token = 32; token < 64; ++token) refused.push_back(token);
  std::vector<uint32_t> mask(TokenMaskWords(std::ssize(logits)), 0);
  for (TokenId token = 0; token < 70; ++token)
    SetInMask(mask, token, std::ranges::count(refused, token) == 0);
  std::vector<SamplingParams> all(8);
  all[1].temperature = 0;
  all[2].top_p = 0.6;
  all[3].min_p = 0.5;
  all[4].mirostat = 2;
  all[5].top_k = 2;
  all[6].repetition_penalty = 1.5;
  all[6].logit_bias = {{0, 100}};
  all[7].allowed_token_ids = {0, 5, 40, 66};
  const std::vector<TokenId> tokens = {1, 6};
  Sampler sampler(std::ssize(logits), {});
  for (const SamplingParams& params : all) {
    for (uint32_t position = 0; position < 50; ++position) {
      const RandomKey key{.seed = 3, .choice = 0, .position = position};
      const SamplingHistory history{.tokens = tokens, .prompt_count = 1, .mirostat_mu = 4};
      const Sampled got =
          sampler.Sample(logits, params, history, key, {}, {.mask = mask, .allows = {}}).value();
      const Sampled want = sampler.Sample(logits, params, history, key, refused).value();
      ASSERT_EQ(got.token, want.token);
      ASSERT_EQ(got.mirostat_mu, want.mirostat_mu);
    }
  }
}

TEST(ConstrainedSampler, AWideRuleChangesNothingButWhatItRefuses) {
  const std::vector<float> logits(4, 0);
  const auto allows = [](TokenId token) { return token != 2; };
  Sampler sampler(std::ssize(logits), {});
  std::vector<int32_t> counts(4);
  std::vector<int32_t> again(4);
  for (uint32_t position = 0; position < 12'000; ++position) {
    const RandomKey key{.seed = 3, .choice = 0, .position = position};
    const TokenId plain = sampler.Sample(logits, {}, {}, key, {}).value().token;
    const TokenId got =
        sampler.Sample(logits, {}, {}, key, {}, {.mask = {}, .allows = allows}).value().token;
    ASSERT_NE(got, 2);
    ASSERT_TRUE(plain == 2 || got == plain);
    ++counts[static_cast<size_t>(got)];
    if (plain == 2) ++again[static_cast<size_t>(got)];
  }
  // What is drawn again is drawn anew: no token gets the refused one's share alone.
  for (const size_t token : {0, 1, 3}) {
    EXPECT_NEAR(counts[token], 4000, 200);
    EXPECT_NEAR(again[token], 1000, 100);
  }
}

}  // namespace
}  // namespace weft
