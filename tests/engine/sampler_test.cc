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
  Sampler sampler(std::ssize(logits), {});
  return sampler.Sample(logits, params, {}, KeyAt(position), banned).value().token;
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
  Sampler sampler(1000, {});
  for (uint32_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(sampler.Sample(b, Params(2, 40, 0.9), {}, KeyAt(i), banned));
    ASSERT_EQ(sampler.Sample(a, Params(1), {}, KeyAt(i), {}).value().token,
              Sample(a, Params(1), i));
  }
}

TEST(Sampler, BannedTokensAreNeverDrawn) {
  const std::vector<float> logits = {9, 8, 0, 0};
  for (const SamplingParams& params : {Params(0), Params(1), Params(1, 3), Params(1, 0, 0.9)}) {
    for (uint32_t i = 0; i < 50; ++i) EXPECT_EQ(Sample(logits, params, i, {0, 2, 3}), 1);
  }
  Sampler sampler(4, {});
  const Result<Sampled> none =
      sampler.Sample(logits, Params(1), {}, KeyAt(0), std::vector<TokenId>{0, 1, 2, 3});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("no token"));
}

TEST(Sampler, NotFiniteLogitsAreAnError) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    std::vector<float> logits(70, 1);
    logits[66] = bad;
    Sampler sampler(70, {});
    EXPECT_FALSE(sampler.Sample(logits, Params(0), {}, KeyAt(0), {}));
    EXPECT_FALSE(sampler.Logprob(logits, 0, 1));
  }
}

TEST(Sampler, LogprobsAreALogSoftmax) {
  std::mt19937_64 random(6);
  std::vector<float> logits = RandomLogits(random, 5003, 5);
  for (size_t i = 0; i < logits.size(); i += 2) logits[i] = std::round(logits[i]);
  Sampler sampler(std::ssize(logits), {});
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
  Sampler small(2, {});
  EXPECT_EQ(small.Logprob(std::vector<float>{1, 2}, 0, 9).value().top.size(), 2U);
  EXPECT_TRUE(small.Logprob(std::vector<float>{1, 2}, 0, 0).value().top.empty());
}

std::string Refusal(const SamplingParams& params) {
  const Result<void> valid = ValidateSampling(params, 10);
  if (valid) return "accepted";
  EXPECT_EQ(valid.error().code, ErrorCode::kInvalidArgument);
  return valid.error().message;
}

template <typename Member, typename Value>
SamplingParams With(Member member, Value value) {
  SamplingParams params;
  params.*member = value;
  return params;
}

TEST(ValidateSampling, NamesTheNumberAndItsRange) {
  EXPECT_EQ(Refusal({}), "accepted");
  const std::pair<std::string, double SamplingParams::*> numbers[] = {
      {"temperature", &SamplingParams::temperature},
      {"dynatemp_range", &SamplingParams::dynatemp_range},
      {"dynatemp_exponent", &SamplingParams::dynatemp_exponent},
      {"top_p", &SamplingParams::top_p},
      {"min_p", &SamplingParams::min_p},
      {"typical_p", &SamplingParams::typical_p},
      {"top_n_sigma", &SamplingParams::top_n_sigma},
      {"xtc_probability", &SamplingParams::xtc_probability},
      {"xtc_threshold", &SamplingParams::xtc_threshold},
      {"mirostat_tau", &SamplingParams::mirostat_tau},
      {"mirostat_eta", &SamplingParams::mirostat_eta},
      {"repetition_penalty", &SamplingParams::repetition_penalty},
      {"frequency_penalty", &SamplingParams::frequency_penalty},
      {"presence_penalty", &SamplingParams::presence_penalty},
  };
  for (const auto& [name, member] : numbers) {
    EXPECT_THAT(Refusal(With(member, -1000.5)), HasSubstr(name + " is -1000.5, but must be from"));
    EXPECT_THAT(Refusal(With(member, 1000.5)), HasSubstr(name + " is 1000.5"));
    EXPECT_THAT(Refusal(With(member, std::nan(""))), HasSubstr(name + " is nan"));
    EXPECT_THAT(Refusal(With(member, std::numeric_limits<double>::infinity())),
                HasSubstr(name + " is inf"));
  }
  EXPECT_EQ(Refusal(With(&SamplingParams::temperature, -1.0)),
            "temperature is -1, but must be from 0 to 100");
  DryParams dry;
  dry.multiplier = std::nan("");
  EXPECT_THAT(Refusal(With(&SamplingParams::dry, dry)), HasSubstr("dry_multiplier is nan"));
  dry = {};
  dry.base = 0.5;
  EXPECT_THAT(Refusal(With(&SamplingParams::dry, dry)), HasSubstr("dry_base is 0.5"));
}

TEST(ValidateSampling, NamesTheCountAndItsRange) {
  EXPECT_THAT(Refusal(With(&SamplingParams::top_k, -1)), HasSubstr("top_k is -1"));
  EXPECT_THAT(Refusal(With(&SamplingParams::repeat_last_n, -2)), HasSubstr("repeat_last_n is -2"));
  EXPECT_THAT(Refusal(With(&SamplingParams::mirostat, 1)), HasSubstr("mirostat is 1"));
  EXPECT_THAT(Refusal(With(&SamplingParams::max_tokens, -1)), HasSubstr("max_tokens is -1"));
  EXPECT_THAT(Refusal(With(&SamplingParams::max_tokens, 0)), HasSubstr("max_tokens is 0"));
  EXPECT_THAT(Refusal(With(&SamplingParams::min_tokens, 17)), HasSubstr("min_tokens is 17"));
  EXPECT_THAT(Refusal(With(&SamplingParams::min_tokens, -1)), HasSubstr("min_tokens is -1"));
  EXPECT_THAT(Refusal(With(&SamplingParams::logprobs, 101)), HasSubstr("logprobs is 101"));
  EXPECT_THAT(Refusal(With(&SamplingParams::logprobs, -2)), HasSubstr("logprobs is -2"));
  DryParams dry;
  dry.allowed_length = -1;
  EXPECT_THAT(Refusal(With(&SamplingParams::dry, dry)), HasSubstr("dry_allowed_length is -1"));
  dry = {};
  dry.last_n = -2;
  EXPECT_THAT(Refusal(With(&SamplingParams::dry, dry)), HasSubstr("dry_penalty_last_n is -2"));
}

TEST(ValidateSampling, NamesTheStringOrTheToken) {
  using Strings = std::vector<std::string>;
  const auto stop = [](Strings strings) {
    return Refusal(With(&SamplingParams::stop, std::move(strings)));
  };
  EXPECT_THAT(stop({"a", ""}), HasSubstr("stop string is 0"));
  EXPECT_THAT(stop(Strings(33, "a")), HasSubstr("stop strings is 33"));
  EXPECT_THAT(stop({std::string(1025, 'a')}), HasSubstr("stop string is 1025"));
  DryParams dry;
  dry.sequence_breakers = {""};
  EXPECT_THAT(Refusal(With(&SamplingParams::dry, dry)), HasSubstr("sequence breaker is 0"));
  using Tokens = std::vector<TokenId>;
  EXPECT_EQ(Refusal(With(&SamplingParams::stop_token_ids, Tokens{10})),
            "a stop token id is 10, but must be from 0 to 9");
  EXPECT_THAT(Refusal(With(&SamplingParams::stop_token_ids, Tokens{-1})), HasSubstr("id is -1"));
  EXPECT_THAT(Refusal(With(&SamplingParams::stop_token_ids, Tokens(129, 1))), HasSubstr("is 129"));
  const auto allowed = [](Tokens tokens) {
    return Refusal(With(&SamplingParams::allowed_token_ids, std::move(tokens)));
  };
  EXPECT_THAT(allowed({10}), HasSubstr("allowed token id is 10"));
  EXPECT_THAT(allowed({2, 2}), HasSubstr("must ascend"));
  const auto bad = [](std::vector<Tokens> words) {
    return Refusal(With(&SamplingParams::bad_words, std::move(words)));
  };
  EXPECT_THAT(bad({{1}, {}}), HasSubstr("tokens of a bad word is 0"));
  EXPECT_THAT(bad({{1, -1}}), HasSubstr("token id of a bad word is -1"));
  using Biases = std::vector<std::pair<TokenId, float>>;
  EXPECT_THAT(Refusal(With(&SamplingParams::logit_bias, Biases{{10, 1.0F}})),
              HasSubstr("logit bias is 10"));
  EXPECT_THAT(Refusal(With(&SamplingParams::logit_bias, Biases{{1, std::nanf("")}})),
              HasSubstr("logit bias is nan"));
}

TEST(ValidateSampling, RefusesASamplerThatStandsInTheChainTwice) {
  EXPECT_THAT(Refusal(With(&SamplingParams::samplers,
                           std::vector<SamplerStage>{SamplerStage::kTopK, SamplerStage::kTopK})),
              HasSubstr("twice"));
}

}  // namespace
}  // namespace weft
