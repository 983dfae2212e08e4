// Requests that pool hidden states in place of generating, and encoders, which do nothing else.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/engine_core_fixture.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

class PoolingTest : public EngineCoreTest {};

TEST_F(PoolingTest, PoolsTheLastHiddenStateOrTheMeanOfAll) {
  options_.max_batch_tokens = 3;  // the prompt takes three steps
  runner_.fill_hidden = [](int32_t position, float* hidden) {
    for (size_t d = 0; d < FakeModelRunner::kHiddenSize; ++d)
      hidden[d] = static_cast<float>(position * position) + static_cast<float>(d) / 4;
  };
  Request request = MakeRequest({0, 1, 2, 3, 4, 5, 6}, 0);
  request.pooling = {.pooling = Pooling::kLast};
  const auto last = Add(request);
  request.id = next_id_++;
  request.pooling = {.pooling = Pooling::kMean};
  const auto mean = Add(request);
  Finish();
  EXPECT_EQ(last->embedding(), (std::vector<float>{36, 36.25, 36.5, 36.75, 37}));
  EXPECT_EQ(mean->embedding(), (std::vector<float>{13, 13.25, 13.5, 13.75, 14}));  // 91 / 7
  for (const auto& sink : {last, mean}) {
    EXPECT_EQ(sink->complaint(), "");
    const FinishEvent& finish = sink->choice().finishes.at(0);
    EXPECT_EQ(finish.reason, FinishReason::kStop);
    EXPECT_EQ(finish.prompt_tokens, 7);
    EXPECT_EQ(finish.completion_tokens, 0);
    EXPECT_TRUE(finish.last);
  }
}

TEST_F(PoolingTest, TheModelMakesEmbeddingsOrLabelsOfWhatWasPooled) {
  runner_.from_pooled = [](PooledOutput output, const std::vector<float>& pooled) {
    return std::vector<float>{pooled[0], output == PooledOutput::kLabels ? 1.0F : 0.0F};
  };
  runner_.fill_hidden = [](int32_t position, float* hidden) {
    std::fill_n(hidden, FakeModelRunner::kHiddenSize, static_cast<float>(position));
  };
  Request request = MakeRequest({0, 1, 2}, 0);
  request.pooling = {.pooling = Pooling::kMax};
  const auto sink = Add(request);
  Finish();
  EXPECT_EQ(sink->embedding(), (std::vector<float>{2, 0}));
  request.id = next_id_++;
  request.pooling->output = PooledOutput::kLabels;
  const auto labels = Add(request);
  Finish();
  EXPECT_EQ(labels->embedding(), (std::vector<float>{2, 1}));

  runner_.from_pooled = [](PooledOutput, const std::vector<float>&) {
    return std::vector<float>{std::numeric_limits<float>::infinity()};
  };
  request.id = next_id_++;
  const auto failed = Add(request);
  Finish();
  EXPECT_TRUE(failed->embedding().empty());
  EXPECT_EQ(failed->choice().finishes.at(0).error.message,
            "what the model makes of its hidden states is not finite");
}

TEST_F(PoolingTest, PoolsTheFirstHiddenStateTheLargestOrAWeightedMean) {
  options_.max_batch_tokens = 3;  // the prompt takes two steps
  runner_.fill_hidden = [](int32_t position, float* hidden) {
    const float values[] = {8, -1, 2, 5};
    std::fill_n(hidden, FakeModelRunner::kHiddenSize, values[position]);
  };
  Request request = MakeRequest({0, 1, 2, 3}, 0);
  const std::pair<Pooling, float> cases[] = {
      {Pooling::kFirst, 8}, {Pooling::kMax, 8}, {Pooling::kWeightedMean, 3.2F}};  // 32 / 10
  for (const auto& [pooling, expected] : cases) {
    request.id = next_id_++;
    request.pooling = {.pooling = pooling};
    const auto sink = Add(request);
    Finish();
    EXPECT_EQ(sink->embedding(), std::vector<float>(FakeModelRunner::kHiddenSize, expected));
  }
}

TEST_F(PoolingTest, LogitsOfTokensAtTheLastPosition) {
  options_.max_batch_tokens = 3;  // the prompt takes three steps
  runner_.fill_logits = [](uint64_t, TokenId, int32_t position, float* logits) {
    for (int32_t i = 0; i < kVocab; ++i) logits[i] = static_cast<float>(10 * position + i % 3);
  };
  Request request = MakeRequest({0, 1, 2, 3, 4, 5, 6}, 0);
  request.pooling = {.output = PooledOutput::kTokenLogits, .tokens = {5, 0, 25}};
  const auto sink = Add(request);
  Finish();
  ASSERT_TRUE(sink->pooled());
  EXPECT_EQ(sink->pooled()->values, (std::vector<float>{62, 60, 61}));
  // Of 26 tokens nine are at 60, nine at 61, eight at 62.
  EXPECT_NEAR(sink->pooled()->log_sum, 60 + std::log(9 + 9 * std::exp(1) + 8 * std::exp(2)), 1e-5);
  EXPECT_EQ(sink->complaint(), "");
  const FinishEvent& finish = sink->choice().finishes.at(0);
  EXPECT_EQ(finish.reason, FinishReason::kStop);
  EXPECT_EQ(finish.prompt_tokens, 7);
  EXPECT_EQ(finish.completion_tokens, 0);
}

// Many documents behind the same query: the blocks that they share are computed once, whether they
// come together or later.
TEST_F(PoolingTest, LogitsOfTokensGoOnBehindWhatIsCached) {
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  const auto add = [&](TokenId document) {
    Request request = MakeRequest({7, 7, 7, 7, 8, 8, 8, 8, document}, 0);
    request.pooling = {.output = PooledOutput::kTokenLogits, .tokens = {1, 2}};
    sinks.push_back(Add(request));
  };
  for (TokenId document = 0; document < 3; ++document) add(document);
  Finish();
  EXPECT_EQ(core().TakeReport().prompt_tokens, 8 + 3);
  add(3);
  Finish();
  EXPECT_EQ(core().TakeReport().prompt_tokens, 1);
  EXPECT_EQ(sinks.back()->choice().finishes.at(0).cached_tokens, 8);
  const std::vector<float> expected[] = {{20, 0}, {0, 20}, {0, 0}, {0, 0}};
  for (size_t i = 0; i < sinks.size(); ++i) EXPECT_EQ(sinks[i]->embedding(), expected[i]);
}

TEST_F(PoolingTest, LogitsThatAreNotFiniteFailAlone) {
  runner_.fill_logits = [](uint64_t, TokenId token, int32_t, float* logits) {
    std::fill_n(logits, kVocab, 1.0F);
    if (token == 9) logits[20] = std::numeric_limits<float>::quiet_NaN();
  };
  Request request = MakeRequest({0, 9}, 0);
  request.pooling = {.output = PooledOutput::kTokenLogits, .tokens = {1}};
  const auto bad = Add(request);
  request.id = next_id_++;
  request.prompt = {9, 0};
  const auto good = Add(request);
  Finish();
  EXPECT_FALSE(bad->pooled());
  EXPECT_EQ(bad->choice().finishes.at(0).reason, FinishReason::kFailed);
  EXPECT_EQ(bad->choice().finishes.at(0).error.message, "the model's logits are not finite");
  EXPECT_EQ(good->embedding(), (std::vector<float>{1}));
}

// Of three positions, and of two texts in one step.
TEST_F(PoolingTest, ASparseVectorHasTheLargestLogitOfEachToken) {
  options_.is_encoder = true;
  runner_.fill_logits = [](uint64_t, TokenId token, int32_t, float* logits) {
    std::fill_n(logits, kVocab, -3.0F);
    logits[token] = static_cast<float>(token) - 2;
    logits[25] = static_cast<float>(token % 4);
  };
  Request request = MakeRequest({1, 6, 3}, 0);
  request.pooling = {.output = PooledOutput::kSparse};
  const auto first = Add(request);
  request.id = next_id_++;
  request.prompt = {4};
  const auto second = Add(request);
  Finish();
  const auto weight = [](double logit) {  // the fake's
    return static_cast<float>(std::log1p(std::log1p(logit)));
  };
  EXPECT_EQ(first->pooled()->tokens, (std::vector<TokenId>{3, 6, 25}));
  EXPECT_EQ(first->pooled()->values, (std::vector<float>{weight(1), weight(4), weight(3)}));
  EXPECT_EQ(second->pooled()->tokens, (std::vector<TokenId>{4}));
  EXPECT_EQ(second->pooled()->values, (std::vector<float>{weight(2)}));

  // Of a text without weights there is a vector, too, and none of one whose logits are not finite.
  runner_.fill_logits = [](uint64_t, TokenId token, int32_t, float* logits) {
    std::fill_n(logits, kVocab, -1.0F);
    if (token == 9) logits[20] = -std::numeric_limits<float>::infinity();
  };
  request.id = next_id_++;
  const auto empty = Add(request);
  request.id = next_id_++;
  request.prompt = {4, 9, 4};
  const auto bad = Add(request);
  Finish();
  EXPECT_EQ(empty->pooled(), PooledResult());
  EXPECT_FALSE(bad->pooled());
  EXPECT_EQ(bad->choice().finishes.at(0).error.message, "the model's logits are not finite");
  for (const auto& sink : {first, second, empty, bad}) EXPECT_EQ(sink->complaint(), "");
}

TEST_F(PoolingTest, WhatTheModelLacksIsRefused) {
  Request request = MakeRequest({0, 1}, 0);
  const std::pair<PooledOutput, const char*> cases[] = {
      {PooledOutput::kEmbedding, "the model makes no embeddings"},
      {PooledOutput::kLabels, "the model has no classifier, so that it scores no labels"},
      {PooledOutput::kTokenLogits,
       "the model generates no text, so that it has no logits of a next token"},
      {PooledOutput::kSparse,
       "the model has no masked-language head, so that it makes no sparse vectors"}};
  for (const auto& [output, message] : cases) {
    request.pooling = {.output = output};
    if (output == PooledOutput::kTokenLogits) request.pooling->tokens = {3};
    EXPECT_EQ(Refusal(request), "accepted");
    runner_.lacks = {output};
    EXPECT_EQ(Refusal(request), message);
    runner_.lacks = {};
  }
  runner_.generates_text = false;
  EXPECT_EQ(Refusal(MakeRequest({0, 1}, 4)),
            "the model has no language head: it generates nothing");
}

TEST_F(PoolingTest, TokensAreThoseOfTheVocabulary) {
  Request request = MakeRequest({0, 1}, 0);
  request.pooling = {.output = PooledOutput::kTokenLogits};
  EXPECT_EQ(Refusal(request), "0 tokens are named whose logits are wanted, expected one or more");
  request.pooling->tokens = {0, kVocab};
  EXPECT_EQ(Refusal(request),
            "the list of tokens has the token id 26, but the vocabulary ends at 25");
  request.pooling->tokens = {0, kVocab - 1};
  EXPECT_EQ(Refusal(request), "accepted");
  request.pooling->output = PooledOutput::kEmbedding;
  EXPECT_EQ(Refusal(request), "2 tokens are named whose logits are wanted, but logits are not");
}

// Not cut, though two of them are more than a step, and one alone is.
TEST_F(PoolingTest, AnEncoderComputesItsTextsWhole) {
  options_.max_batch_tokens = 8;
  options_.is_encoder = true;
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  for (const int32_t length : {5, 3, 1, 12, 6, 2}) {
    Request request = MakeRequest(std::vector<TokenId>(static_cast<size_t>(length), 1), 0);
    request.id = next_id_++;
    request.pooling = {.pooling = Pooling::kMean};
    sinks.push_back(Add(request));
  }
  std::vector<int32_t> steps;
  while (core().has_work()) {
    core().Step();
    steps.push_back(core().TakeReport().prompt_tokens);
  }
  EXPECT_EQ(steps, (std::vector<int32_t>{8, 1, 12, 8}));
  for (const auto& sink : sinks) EXPECT_FALSE(sink->embedding().empty());
}

TEST_F(PoolingTest, AnEncoderGeneratesNothing) {
  options_.is_encoder = true;
  EXPECT_THAT(Refusal(MakeRequest({0, 1}, 4)), HasSubstr("the model is an encoder"));
}

TEST_F(PoolingTest, AnEmbeddingThatIsNotFiniteFailsAlone) {
  runner_.fill_hidden = [](int32_t position, float* hidden) {
    if (position == 3) hidden[2] = std::numeric_limits<float>::infinity();
  };
  Request request = MakeRequest({0, 1, 2, 3, 4}, 0);
  request.pooling = {.pooling = Pooling::kMean};
  const auto bad = Add(request);
  request.id = next_id_++;
  request.prompt = {0, 1};
  const auto good = Add(request);
  Finish();
  EXPECT_TRUE(bad->embedding().empty());
  EXPECT_EQ(bad->choice().finishes.at(0).reason, FinishReason::kFailed);
  EXPECT_THAT(bad->choice().finishes.at(0).error.message, HasSubstr("not finite"));
  EXPECT_EQ(good->embedding().size(), FakeModelRunner::kHiddenSize);
}

TEST_F(PoolingTest, PoolingGeneratesNothing) {
  Request request = MakeRequest({0, 1}, 0);
  request.pooling = {.pooling = Pooling::kLast};
  EXPECT_EQ(Refusal(request), "accepted");
  for (const auto& change : std::vector<std::function<void(Request&)>>{
           [](Request& r) { r.sampling.max_tokens = 1; }, [](Request& r) { r.choice_count = 2; },
           [](Request& r) { r.sampling.prompt_logprobs = true; },
           [](Request& r) { r.sampling.beam_width = 2; }}) {
    Request wrong = request;
    change(wrong);
    EXPECT_THAT(Refusal(wrong), HasSubstr("with pooling"));
  }
}

}  // namespace
}  // namespace weft
