#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/sampling_math.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

// The filters as the header words them, in doubles, by sorting everything.
struct Reference {
  std::vector<TokenId> tokens;  // in the order in which a draw walks them
  std::vector<double> weights;

  Reference(const std::vector<float>& logits, const SamplingParams& params) {
    tokens.resize(logits.size());
    std::iota(tokens.begin(), tokens.end(), 0);
    const double largest = *std::max_element(logits.begin(), logits.end());
    std::vector<double> all(logits.size());
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = std::exp((static_cast<double>(logits[i]) - largest) / params.temperature);
    const auto weight = [&](TokenId t) { return all[static_cast<size_t>(t)]; };
    const bool cut_by_k = params.top_k > 0 && static_cast<size_t>(params.top_k) < tokens.size();
    if (cut_by_k || params.top_p < 1) {
      std::stable_sort(tokens.begin(), tokens.end(), [&](TokenId a, TokenId b) {
        return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
      });
      if (cut_by_k) tokens.resize(static_cast<size_t>(params.top_k));
      double total = 0;
      for (const TokenId t : tokens) total += weight(t);
      double sum = 0;
      size_t kept = 0;
      while (kept < tokens.size() && (kept == 0 || sum < params.top_p * total))
        sum += weight(tokens[kept++]);
      if (params.top_p < 1) tokens.resize(kept);
    }
    std::erase_if(tokens, [&](TokenId t) { return weight(t) < params.min_p; });
    for (const TokenId t : tokens) weights.push_back(weight(t));
  }

  TokenId Draw(double uniform) const {
    double left = uniform * std::accumulate(weights.begin(), weights.end(), 0.0);
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (left < weights[i]) return tokens[i];
      left -= weights[i];
    }
    return tokens.back();
  }
};

std::vector<float> RandomLogits(std::mt19937_64& random, size_t count, float spread) {
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> logits(count);
  for (float& logit : logits) logit = normal(random);
  return logits;
}

RandomKey KeyAt(uint32_t position) { return {.seed = 17, .choice = 2, .position = position}; }

SamplingParams Params(double temperature, int32_t top_k = 0, double top_p = 1, double min_p = 0) {
  SamplingParams params;
  params.temperature = temperature;
  params.top_k = top_k;
  params.top_p = top_p;
  params.min_p = min_p;
  return params;
}

TokenId Sample(const std::vector<float>& logits, const SamplingParams& params,
               uint32_t position = 0, const std::vector<TokenId>& banned = {}) {
  Sampler sampler(std::ssize(logits));
  return sampler.Sample(logits, params, KeyAt(position), banned).value();
}

TEST(Rng, PhiloxGivesThePublishedAnswers) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, 0, 0),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({~0U, ~0U, ~0U, ~0U}, ~0U, ~0U),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, EveryPartOfTheKeyCounts) {
  const RandomKey key{.seed = 1, .choice = 2, .position = 3};
  const double uniform = RandomUniform(key);
  EXPECT_GE(uniform, 0);
  EXPECT_LT(uniform, 1);
  EXPECT_EQ(RandomUniform(key), uniform);
  EXPECT_NE(RandomUniform({.seed = 2, .choice = 2, .position = 3}), uniform);
  EXPECT_NE(RandomUniform({.seed = 1 + (uint64_t{1} << 32), .choice = 2, .position = 3}), uniform);
  EXPECT_NE(RandomUniform({.seed = 1, .choice = 3, .position = 2}), uniform);
  EXPECT_NE(RandomUniform({.seed = 1, .choice = 2, .position = 4}), uniform);
}

TEST(SamplingMath, ExpIsPreciseAndRises) {
  float previous = 0;
  for (float x = -90; x <= 0; x += 0.000977F) {
    const float y = ExpNonPositive(x);
    const double exact = std::exp(static_cast<double>(x));
    if (x >= -87) {
      ASSERT_NEAR(y / exact, 1, 2e-7) << x;
    } else {
      ASSERT_EQ(y, 0);
    }
    ASSERT_GE(y, previous);
    previous = y;
  }
  EXPECT_EQ(ExpNonPositive(0), 1);
  EXPECT_EQ(ExpNonPositive(-std::numeric_limits<float>::infinity()), 0);
}

TEST(Sampler, GreedyTakesTheLargestAndOfEqualOnesTheLowestId) {
  EXPECT_EQ(Sample({1, 5, 3, 5}, Params(0)), 1);
  EXPECT_EQ(Sample({-0.0F, 0.0F}, Params(0)), 0);
  EXPECT_EQ(Sample(std::vector<float>(40, -3), Params(0)), 0);
  std::vector<float> logits(100, -1e30F);
  for (size_t i : {99U, 98U, 37U, 0U}) {
    logits[i] = static_cast<float>(100 - i);
    EXPECT_EQ(Sample(logits, Params(0)), static_cast<TokenId>(i));
    EXPECT_EQ(Sample(logits, Params(1e-6)), static_cast<TokenId>(i));
    EXPECT_EQ(Sample(logits, Params(1, 1)), static_cast<TokenId>(i));
  }
}

TEST(Sampler, AgreesWithTheReferenceDrawByDraw) {
  std::mt19937_64 random(3);
  const auto one_in = [&](uint64_t n) { return random() % n == 0; };
  for (uint32_t round = 0; round < 3000; ++round) {
    const size_t vocab = one_in(20) ? 5000 : 1 + random() % 300;
    std::vector<float> logits =
        RandomLogits(random, vocab, static_cast<float>(random() % 8) + 0.1F);
    if (one_in(2)) {  // ties
      for (float& logit : logits) logit = std::round(logit);
    }
    SamplingParams params = Params(static_cast<double>(1 + random() % 30) / 10);
    if (one_in(2)) params.top_k = static_cast<int32_t>(2 + random() % (vocab + 3));
    if (one_in(2)) params.top_p = static_cast<double>(random() % 1001) / 1000;
    if (one_in(2)) params.min_p = static_cast<double>(random() % 1001) / 1000;
    const Reference reference(logits, params);
    ASSERT_EQ(Sample(logits, params, round), reference.Draw(RandomUniform(KeyAt(round))))
        << "round " << round << " vocab " << vocab << " temperature " << params.temperature
        << " top_k " << params.top_k << " top_p " << params.top_p << " min_p " << params.min_p;
  }
}

TEST(Sampler, AgreesWithTheReferenceOnALargeVocabulary) {
  std::mt19937_64 random(4);
  const std::vector<float> logits = RandomLogits(random, 150'001, 3);
  Sampler sampler(std::ssize(logits));
  for (const SamplingParams& params :
       {Params(1), Params(0.7, 50), Params(1, 0, 0.95), Params(1.3, 1000, 0.8, 0.01),
        Params(100, 0, 0.999), Params(1, 0, 1, 0.2)}) {
    const Reference reference(logits, params);
    for (uint32_t position = 0; position < 50; ++position) {
      ASSERT_EQ(sampler.Sample(logits, params, KeyAt(position), {}).value(),
                reference.Draw(RandomUniform(KeyAt(position))));
    }
  }
}

TEST(Sampler, DrawsFollowTheDistribution) {
  const std::vector<float> logits = {0.5F, 2, -1, 0.5F, 1, -8, 1.5F, 0, -0.25F, 2};
  for (const SamplingParams& params : {Params(1), Params(2), Params(0.6, 5), Params(1, 0, 0.8),
                                       Params(1, 0, 1, 0.2), Params(1.5, 8, 0.9, 0.1)}) {
    const Reference reference(logits, params);
    const double total = std::accumulate(reference.weights.begin(), reference.weights.end(), 0.0);
    std::vector<int> counts(logits.size());
    constexpr int kDraws = 50'000;
    Sampler sampler(std::ssize(logits));
    for (uint32_t i = 0; i < kDraws; ++i)
      ++counts[static_cast<size_t>(sampler.Sample(logits, params, KeyAt(i), {}).value())];
    double chi_square = 0;
    int seen = 0;
    for (size_t i = 0; i < reference.tokens.size(); ++i) {
      const double expected = reference.weights[i] / total * kDraws;
      const int count = counts[static_cast<size_t>(reference.tokens[i])];
      seen += count;
      chi_square += (count - expected) * (count - expected) / expected;
    }
    EXPECT_EQ(seen, kDraws);       // nothing outside the kept tokens
    EXPECT_LT(chi_square, 33.72);  // 9 degrees of freedom, p = 1e-4
  }
}

TEST(Sampler, TopPKeepsTheShortestBeginningThatSuffices) {
  // Weights 1, 1/2, 1/2, and nearly nothing.
  const std::vector<float> logits = {0, -0.6931472F, -0.6931472F, -80};
  const auto kept = [&](double top_p) {
    TokenId most = 0;
    for (uint32_t i = 0; i < 300; ++i)
      most = std::max(most, Sample(logits, Params(1, 0, top_p), i));
    return most + 1;
  };
  EXPECT_EQ(kept(0), 1);
  EXPECT_EQ(kept(0.49), 1);
  EXPECT_EQ(kept(0.51), 2);
  EXPECT_EQ(kept(0.74), 2);
  EXPECT_EQ(kept(0.76), 3);
  EXPECT_EQ(kept(1), 3);
}

TEST(Sampler, ExtremeLogitsAreNoTrouble) {
  constexpr float kHuge = std::numeric_limits<float>::max();
  for (const SamplingParams& params :
       {Params(0), Params(1), Params(100), Params(1e-5), Params(1, 2), Params(1, 0, 0.5),
        Params(100, 3, 0.99, 0.001)}) {
    for (uint32_t i = 0; i < 20; ++i) {
      EXPECT_EQ(Sample({-kHuge, kHuge, -kHuge, 0}, params, i), 1);
      EXPECT_EQ(Sample({-kHuge}, params, i), 0);
      EXPECT_LT(Sample({-kHuge, -kHuge}, params, i), 2);
    }
  }
}

TEST(Sampler, NothingIsLeftBehindByAnEarlierRow) {
  std::mt19937_64 random(5);
  const std::vector<float> a = RandomLogits(random, 1000, 2);
  const std::vector<float> b = RandomLogits(random, 1000, 4);
  const std::vector<TokenId> banned = {1, 2, 3};
  Sampler sampler(1000);
  for (uint32_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(sampler.Sample(b, Params(2, 40, 0.9), KeyAt(i), banned));
    ASSERT_EQ(sampler.Sample(a, Params(1), KeyAt(i), {}).value(), Sample(a, Params(1), i));
  }
}

TEST(Sampler, BannedTokensAreNeverDrawn) {
  const std::vector<float> logits = {9, 8, 0, 0};
  for (const SamplingParams& params : {Params(0), Params(1), Params(1, 3), Params(1, 0, 0.9)}) {
    for (uint32_t i = 0; i < 50; ++i) EXPECT_EQ(Sample(logits, params, i, {0, 2, 3}), 1);
  }
  Sampler sampler(4);
  const Result<TokenId> none =
      sampler.Sample(logits, Params(1), KeyAt(0), std::vector<TokenId>{0, 1, 2, 3});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("no token"));
}

TEST(Sampler, NotFiniteLogitsAreAnError) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    std::vector<float> logits(70, 1);
    logits[66] = bad;
    Sampler sampler(70);
    EXPECT_FALSE(sampler.Sample(logits, Params(0), KeyAt(0), {}));
    EXPECT_FALSE(sampler.Logprob(logits, 0, 1));
  }
}

TEST(Sampler, LogprobsAreALogSoftmax) {
  std::mt19937_64 random(6);
  std::vector<float> logits = RandomLogits(random, 5003, 5);
  for (size_t i = 0; i < logits.size(); i += 2) logits[i] = std::round(logits[i]);
  Sampler sampler(std::ssize(logits));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  std::vector<TokenId> ranked(logits.size());
  std::iota(ranked.begin(), ranked.end(), 0);
  std::stable_sort(ranked.begin(), ranked.end(), [&](TokenId a, TokenId b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  const TokenLogprob result = sampler.Logprob(logits, 123, 100).value();
  EXPECT_EQ(result.token, 123);
  EXPECT_NEAR(result.logprob, static_cast<double>(logits[123]) - std::log(sum), 2e-6);
  ASSERT_EQ(result.top.size(), 100U);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(result.top[i].first, ranked[i]);
    EXPECT_NEAR(result.top[i].second,
                static_cast<double>(logits[static_cast<size_t>(ranked[i])]) - std::log(sum), 2e-6);
  }
  Sampler small(2);
  EXPECT_EQ(small.Logprob(std::vector<float>{1, 2}, 0, 9).value().top.size(), 2U);
  EXPECT_TRUE(small.Logprob(std::vector<float>{1, 2}, 0, 0).value().top.empty());
}

std::string Refusal(const SamplingParams& params) {
  const Result<void> valid = ValidateSampling(params, 10);
  if (valid) return "accepted";
  EXPECT_EQ(valid.error().code, ErrorCode::kInvalidArgument);
  return valid.error().message;
}

TEST(ValidateSampling, NamesTheParameterAndWhatItMayBe) {
  const double nan = std::nan("");
  const auto with = [](auto member, auto value) {
    SamplingParams params;
    params.*member = value;
    return params;
  };
  EXPECT_EQ(Refusal({}), "accepted");
  EXPECT_EQ(Refusal(with(&SamplingParams::temperature, -1.0)),
            "temperature is -1, but must be from 0 to 100");
  EXPECT_THAT(Refusal(with(&SamplingParams::temperature, nan)), HasSubstr("temperature is nan"));
  EXPECT_THAT(Refusal(with(&SamplingParams::temperature, 101.0)), HasSubstr("temperature is 101"));
  EXPECT_THAT(Refusal(with(&SamplingParams::top_k, -1)), HasSubstr("top_k is -1"));
  EXPECT_THAT(Refusal(with(&SamplingParams::top_p, 1.5)), HasSubstr("top_p is 1.5"));
  EXPECT_THAT(Refusal(with(&SamplingParams::top_p, nan)), HasSubstr("top_p is nan"));
  EXPECT_THAT(Refusal(with(&SamplingParams::min_p, -0.5)), HasSubstr("min_p is -0.5"));
  EXPECT_THAT(Refusal(with(&SamplingParams::min_p, nan)), HasSubstr("min_p is nan"));
  EXPECT_THAT(Refusal(with(&SamplingParams::max_tokens, -1)), HasSubstr("max_tokens is -1"));
  EXPECT_THAT(Refusal(with(&SamplingParams::max_tokens, 0)), HasSubstr("max_tokens is 0"));
  EXPECT_THAT(Refusal(with(&SamplingParams::min_tokens, 17)), HasSubstr("min_tokens is 17"));
  EXPECT_THAT(Refusal(with(&SamplingParams::min_tokens, -1)), HasSubstr("min_tokens is -1"));
  EXPECT_THAT(Refusal(with(&SamplingParams::logprobs, 101)), HasSubstr("logprobs is 101"));
  EXPECT_THAT(Refusal(with(&SamplingParams::logprobs, -2)), HasSubstr("logprobs is -2"));
  using Strings = std::vector<std::string>;
  EXPECT_THAT(Refusal(with(&SamplingParams::stop, Strings{"a", ""})),
              HasSubstr("stop string is 0"));
  EXPECT_THAT(Refusal(with(&SamplingParams::stop, Strings(33, "a"))),
              HasSubstr("stop strings is 33"));
  EXPECT_THAT(Refusal(with(&SamplingParams::stop, Strings{std::string(1025, 'a')})),
              HasSubstr("stop string is 1025"));
  using Tokens = std::vector<TokenId>;
  EXPECT_EQ(Refusal(with(&SamplingParams::stop_token_ids, Tokens{10})),
            "a stop token id is 10, but must be from 0 to 9");
  EXPECT_THAT(Refusal(with(&SamplingParams::stop_token_ids, Tokens{-1})), HasSubstr("id is -1"));
  EXPECT_THAT(Refusal(with(&SamplingParams::stop_token_ids, Tokens(129, 1))), HasSubstr("is 129"));
}

}  // namespace
}  // namespace weft
