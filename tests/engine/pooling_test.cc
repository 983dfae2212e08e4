// Requests that pool hidden states in place of generating, and encoders, which do nothing else.
#include <algorithm>
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
  request.pooling = Pooling::kLast;
  const auto last = Add(request);
  request.id = next_id_++;
  request.pooling = Pooling::kMean;
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
  request.pooling = Pooling::kMax;
  const auto sink = Add(request);
  Finish();
  EXPECT_EQ(sink->embedding(), (std::vector<float>{2, 0}));
  request.id = next_id_++;
  request.pooled_output = PooledOutput::kLabels;
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
    request.pooling = pooling;
    const auto sink = Add(request);
    Finish();
    EXPECT_EQ(sink->embedding(), std::vector<float>(FakeModelRunner::kHiddenSize, expected));
  }
}

// Not cut, though two of them are more than a step, and one alone is.
TEST_F(PoolingTest, AnEncoderComputesItsTextsWhole) {
  options_.max_batch_tokens = 8;
  options_.is_encoder = true;
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  for (const int32_t length : {5, 3, 1, 12, 6, 2}) {
    Request request = MakeRequest(std::vector<TokenId>(static_cast<size_t>(length), 1), 0);
    request.id = next_id_++;
    request.pooling = Pooling::kMean;
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
  request.pooling = Pooling::kMean;
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
  request.pooling = Pooling::kLast;
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
