// Requests whose text must keep to something: what is sampled, and what the client hears of it.
#include "engine/token_constraint.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
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

using Clock = std::chrono::steady_clock;

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

TEST_F(TokenConstraintTest, WhereOnlyTheEndMayComeItComesWhateverIsAskedFor) {
  favourite_ = 1;
  const auto run = [&](const std::function<void(SamplingParams&)>& set) {
    Request request = MakeRequest(9);
    request.constraint = std::make_shared<const LetterConstraint>(BytesOf, kVocab, 3);
    set(request.sampling);
    return Run(request)->choice();
  };
  for (const RecordedChoice& choice : {
           run([](SamplingParams&) {}),
           run([](SamplingParams& sampling) { sampling.min_tokens = 8; }),
           run([](SamplingParams& sampling) {
             sampling.allowed_token_ids = {1, 2};
           }),
           run([](SamplingParams& sampling) { sampling.bad_words = {{kEnd}}; }),
       }) {
    EXPECT_EQ(choice.text, "bbb");
    EXPECT_EQ(choice.finishes.at(0).reason, FinishReason::kStop);
    EXPECT_EQ(choice.finishes.at(0).stop_token, kEnd);
    EXPECT_EQ(choice.finishes.at(0).completion_tokens, 4);
  }
  // No token ends the text: it is over nevertheless.
  const RecordedChoice choice = run([](SamplingParams& sampling) { sampling.ignore_eos = true; });
  EXPECT_EQ(choice.text, "bbb");
  EXPECT_EQ(choice.finishes.at(0).reason, FinishReason::kStop);
  EXPECT_EQ(choice.finishes.at(0).stop_token, std::nullopt);
  EXPECT_EQ(choice.finishes.at(0).completion_tokens, 3);
}

TEST_F(TokenConstraintTest, OfSeveralTokensThatEndTheLikeliestDoes) {
  favourite_ = 4;
  Request request = MakeRequest(9);
  request.constraint = std::make_shared<const LetterConstraint>(BytesOf, kVocab, 1);
  request.sampling.stop_token_ids = {7, kSilent};
  request.sampling.min_tokens = 2;
  EXPECT_EQ(Run(request)->choice().finishes.at(0).stop_token, 7);
}

TEST_F(TokenConstraintTest, AStopStringEndsTheTextWhereverItIs) {
  Request request = MakeRequest(9);
  request.sampling.stop = {"ba"};
  const auto sink = Run(request);
  EXPECT_EQ(sink->choice().text, "a");
  EXPECT_EQ(sink->choice().finishes.at(0).stop_string, "ba");
}

TEST_F(TokenConstraintTest, TheFiltersOfTheChainSeeWhatIsAllowed) {
  Request request = MakeRequest(40);
  request.constraint = std::make_shared<const LetterConstraint>(BytesOf, kVocab, 40);
  request.sampling.temperature = 1;
  request.sampling.min_p = 0.9;  // "a" is likelier by far; "b" where that may not come
  EXPECT_EQ(Run(request)->choice().text, "abababababababababababababababababababab");
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

TEST_F(TokenConstraintTest, BeamsKeepToItAndAreWorthWhatTheModelThinks) {
  favourite_ = kSilent;
  Request request = MakeRequest(9);
  request.constraint = std::make_shared<const LetterConstraint>(
      [](TokenId token) { return token <= 1 ? BytesOf(token) : std::string_view(); }, kVocab, 2);
  request.sampling.beam_width = 4;
  request.choice_count = 4;
  const auto texts_of = [](const RecordingSink& sink) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < sink.choice_count(); ++i) {
      EXPECT_EQ(sink.choice(i).finishes.at(0).reason, FinishReason::kStop);
      texts.push_back(sink.choice(i).text);
    }
    return texts;
  };
  // All that there are: of "a" and "b", the likelier one, two letters at most, no "a" at the end.
  const auto sink = Run(request);
  EXPECT_EQ(texts_of(*sink), (std::vector<std::string>{"ab", "bb", "b", ""}));
  EXPECT_NEAR(sink->choice(0).finishes[0].logprob_sum, -41, 0.01);
  EXPECT_NEAR(sink->choice(2).finishes[0].logprob_sum, -50, 0.01);
  EXPECT_EQ(sink->choice(0).finishes[0].completion_tokens, 2);
  EXPECT_EQ(sink->choice(2).finishes[0].completion_tokens, 2);  // the end token included
  // There are fewer: the choices that are left repeat the last one.
  const auto texts_of_b = [&](size_t most) {
    request.constraint = std::make_shared<const LetterConstraint>(
        [](TokenId token) { return token == 1 ? BytesOf(token) : std::string_view(); }, kVocab,
        most);
    request.id = next_id_++;
    return texts_of(*Run(request));
  };
  EXPECT_EQ(texts_of_b(1), (std::vector<std::string>{"b", "", "", ""}));
  EXPECT_EQ(texts_of_b(2), (std::vector<std::string>{"bb", "b", "", ""}));
}

TEST_F(TokenConstraintTest, BeamsThatFindNoTextFail) {
  Request request = MakeRequest(9);
  request.constraint = std::make_shared<const LetterConstraint>(
      [](TokenId token) { return token == kA ? BytesOf(token) : std::string_view(); }, kVocab, 5);
  request.sampling.beam_width = 2;
  request.sampling.ignore_eos = true;
  const auto sink = Run(request);
  EXPECT_EQ(sink->choice().finishes.at(0).reason, FinishReason::kFailed);
  EXPECT_EQ(sink->choice().finishes.at(0).error.code, ErrorCode::kInvalidArgument);
}

// Whose matcher exceeds a limit behind so many tokens.
class FailingConstraint : public TokenConstraint {
 public:
  explicit FailingConstraint(int32_t most_tokens) : most_tokens_(most_tokens) {}
  std::unique_ptr<TokenMatcher> NewMatcher() const override {
    if (most_tokens_ < 0) throw std::runtime_error("thrown");
    return std::make_unique<Matcher>(most_tokens_);
  }

 private:
  class Matcher : public TokenMatcher {
   public:
    explicit Matcher(int32_t left) : left_(left) {}
    std::unique_ptr<TokenMatcher> Clone() const override {
      return std::make_unique<Matcher>(*this);
    }
    bool IsNarrow() const override { return true; }
    Result<void> FillMask(TokenMask mask) override {
      if (left_ == 0) return Fail(ErrorCode::kResourceExhausted, "too large");
      SetInMask(mask, 1, true);
      return {};
    }
    bool Allows(TokenId) override { return true; }
    bool MayEnd() const override { return false; }
    Result<void> Accept(TokenId) override {
      --left_;
      return {};
    }

   private:
    int32_t left_;
  };
  const int32_t most_tokens_;
};

TEST_F(TokenConstraintTest, ATextThatMustFinishEndsWithinItsTokens) {
  const auto run = [&](int32_t max_tokens, const std::function<void(Request&)>& set) {
    Request request = MakeRequest(max_tokens);
    request.finish_by_length = true;
    set(request);
    return Run(request)->choice();
  };
  // An "a" needs a letter behind it, and then the end.
  const std::vector<std::string> texts = {"", "", "ab", "ab", "abab"};
  for (size_t i = 0; i < texts.size(); ++i) {
    const RecordedChoice choice = run(static_cast<int32_t>(i) + 1, [](Request&) {});
    EXPECT_EQ(choice.text, texts[i]);
    EXPECT_EQ(choice.finishes.at(0).reason, FinishReason::kStop);
    EXPECT_EQ(choice.finishes.at(0).stop_token, kEnd);
  }
  // A "b" ends the text, too, and so it does not lead on.
  const RecordedChoice other =
      run(3, [](Request& request) { request.sampling.stop_token_ids = {1}; });
  EXPECT_EQ(other.text, "ac");
  EXPECT_EQ(other.finishes.at(0).stop_token, 1);
  // No token ends it.
  const RecordedChoice over = run(3, [](Request& request) { request.sampling.ignore_eos = true; });
  EXPECT_EQ(over.text, "ab");
  EXPECT_EQ(over.finishes.at(0).reason, FinishReason::kStop);
  EXPECT_EQ(over.finishes.at(0).completion_tokens, 2);
  // One whose constraint finds no way fails.
  const RecordedChoice lost = run(3, [](Request& request) {
    request.constraint = std::make_shared<const FailingConstraint>(9);
  });
  EXPECT_EQ(lost.finishes.at(0).reason, FinishReason::kFailed);
}

TEST_F(TokenConstraintTest, TextsThatMustFinishHaveAFormAndAreNoBeams) {
  core_.emplace(options_, runner_);
  Request request = MakeRequest(4);
  request.sink = std::make_shared<RecordingSink>();
  request.finish_by_length = true;
  EXPECT_TRUE(core_->Validate(request));
  request.sampling.beam_width = 2;
  EXPECT_FALSE(core_->Validate(request));
  request.sampling.beam_width = 0;
  request.constraint = nullptr;
  EXPECT_FALSE(core_->Validate(request));
}

TEST_F(TokenConstraintTest, ALimitThatIsExceededFailsTheRequestAlone) {
  for (const auto& [most_tokens, message] :
       {std::pair(0, "too large"), std::pair(2, "too large"), std::pair(-1, "thrown")}) {
    Request request = MakeRequest(9);
    request.constraint = std::make_shared<const FailingConstraint>(most_tokens);
    core_.emplace(options_, runner_);
    const auto other = AddRecorded(*core_, MakeRequest(9));
    const auto sink = Run(request);
    EXPECT_EQ(sink->choice().tokens.size(), static_cast<size_t>(std::max(most_tokens, 0)));
    EXPECT_EQ(sink->choice().finishes.at(0).reason, FinishReason::kFailed);
    EXPECT_EQ(sink->choice().finishes.at(0).error.message, message);
    EXPECT_EQ(other->choice().text, "ababababa");
    core_.reset();
  }
}

// A mask that is late parks its own sequence alone, and changes nothing.
TEST_F(TokenConstraintTest, WhoseMaskIsLateWaitsAloneAndComputesNothingAgain) {
  std::vector<std::function<void()>> tasks;
  options_.run_beside = [&](std::function<void()> task) { tasks.push_back(std::move(task)); };
  int32_t rows = 0;
  runner_.before_run = [&](const ForwardBatch& batch) -> Result<void> {
    rows += static_cast<int32_t>(batch.row_count());
    return {};
  };
  int32_t wake_count = 0;
  core_.emplace(options_, runner_, Clock::now, [&] { ++wake_count; });
  const auto sink = AddRecorded(*core_, MakeRequest(3));
  Request free = MakeRequest(3);
  free.constraint = nullptr;
  const auto other = AddRecorded(*core_, std::move(free));
  for (int32_t step = 0; step < 4; ++step) core_->Step();
  EXPECT_EQ(other->choice().text, "aaa");
  EXPECT_EQ(sink->choice().text, "");
  EXPECT_EQ(tasks.size(), 1U);
  EXPECT_TRUE(core_->is_stalled());
  for (const char* text : {"a", "ab", "aba"}) {
    EXPECT_EQ(rows, 4 + static_cast<int32_t>(sink->choice().text.size()));
    EXPECT_EQ(wake_count, static_cast<int32_t>(sink->choice().text.size()));
    std::exchange(tasks, {}).at(0)();
    EXPECT_FALSE(core_->is_stalled());
    core_->Step();  // samples what it had computed, and computes the next
    EXPECT_EQ(sink->choice().text, text);
    if (core_->has_work()) core_->Step();
  }
  EXPECT_FALSE(core_->has_work());
  const StepReport report = core_->TakeReport();
  EXPECT_EQ(report.parked_sequences, 3);
  EXPECT_EQ(report.masks, 1);  // behind "a": elsewhere nearly all may come
  EXPECT_GT(report.mask_time.count(), 0);
}

TEST_F(TokenConstraintTest, WhoIsParkedCanBeAbortedWhileItsMaskIsMade) {
  std::vector<std::function<void()>> tasks;
  options_.run_beside = [&](std::function<void()> task) { tasks.push_back(std::move(task)); };
  core_.emplace(options_, runner_);
  Request request = MakeRequest(3);
  const RequestId id = request.id;
  const auto sink = AddRecorded(*core_, std::move(request));
  core_->Step();
  core_->Step();
  EXPECT_TRUE(core_->is_stalled());
  core_->Abort(id);
  EXPECT_EQ(sink->choice().finishes.at(0).reason, FinishReason::kAborted);
  EXPECT_FALSE(core_->has_work());
  core_.reset();
  tasks.at(0)();
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
