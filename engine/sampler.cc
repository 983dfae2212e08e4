#include "engine/sampler.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/exact_math.h"
#include "engine/row_math.h"
#include "engine/sampling_math.h"
#include "model/kernels/kernels.h"

namespace weft {
namespace {

constexpr char kNotFinite[] = "the model's logits are not finite";
constexpr double kGreedyTemperature = 1e-5;
constexpr float kExcluded = -std::numeric_limits<float>::infinity();
constexpr double kLn2 = 0.69314718055994530942;

// Those of a word of a TokenMask; as an array, so that the loop over them can be vectorised.
constexpr auto kBits = [] {
  std::array<uint32_t, 32> bits{};
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = uint32_t{1} << i;
  return bits;
}();

// The tokens whose sampling would complete a bad word.
bool Completes(const std::vector<TokenId>& word, std::span<const TokenId> output) {
  const size_t beginning = word.size() - 1;
  return output.size() >= beginning &&
         std::equal(word.begin(), word.end() - 1, output.end() - static_cast<ptrdiff_t>(beginning));
}

double DrawFor(RandomKey key, RandomPurpose purpose) {
  key.purpose = purpose;
  return RandomUniform(key);
}

}  // namespace

Sampler::Sampler(int64_t vocab_size, TokenBytes token_bytes)
    : candidates_(vocab_size),
      penalties_(vocab_size, std::move(token_bytes)),
      adjusted_(static_cast<size_t>(vocab_size)) {}

int64_t Sampler::ScratchBytes(int64_t vocab_size) {
  constexpr int64_t kPerToken = sizeof(float);
  return Candidates::ScratchBytes(vocab_size) + Penalties::ScratchBytes(vocab_size) +
         vocab_size * kPerToken +
         static_cast<int64_t>(TokenMaskWords(vocab_size) * sizeof(uint32_t));
}

Result<Sampled> Sampler::Sample(std::span<const float> logits, const SamplingParams& params,
                                const SamplingHistory& history, const RandomKey& key,
                                std::span<const TokenId> banned, const TokenRule& rule) {
  RandomKey draw_key = key;
  draw_key.purpose = RandomPurpose::kSampleToken;
  Result<Sampled> sampled = RunChain(logits, params, history, draw_key, banned, rule.mask);
  if (!sampled || !rule.allows || rule.allows(sampled->token)) return sampled;
  const auto vocab_size = static_cast<TokenId>(logits.size());
  asked_mask_.assign(TokenMaskWords(vocab_size), 0);
  for (TokenId token = 0; token < vocab_size; ++token)
    SetInMask(asked_mask_, token, rule.allows(token));
  draw_key.purpose = RandomPurpose::kSampleAgain;
  return RunChain(logits, params, history, draw_key, banned, asked_mask_);
}

Result<Sampled> Sampler::RunChain(std::span<const float> logits, const SamplingParams& params,
                                  const SamplingHistory& history, const RandomKey& key,
                                  std::span<const TokenId> banned, std::span<const uint32_t> mask) {
  WEFT_CHECK(logits.size() == adjusted_.size());
  if (!AllFinite(logits)) return Fail(ErrorCode::kInternal, kNotFinite);
  is_adjusted_ = false;
  begun_ = false;
  Exclude(logits, params, history, banned, mask);
  if (is_adjusted_ && Largest(adjusted_) == kExcluded) {
    return Fail(
        ErrorCode::kInvalidArgument,
        "min_tokens, allowed_token_ids{} leave no token to generate after {} generated ones",
        mask.empty() ? " and bad_words" : ", bad_words and the form that the text must have",
        std::ssize(history.tokens) - history.prompt_count);
  }
  for (const SamplerStage stage : params.samplers) ApplyStage(stage, logits, params, history, key);
  if (!begun_) candidates_.Begin(is_adjusted_ ? adjusted_ : logits);
  if (params.mirostat == 2) candidates_.KeepSurpriseUpTo(history.mirostat_mu);
  const Candidates::Draw draw = candidates_.DrawAt(RandomUniform(key));
  Sampled sampled{.token = draw.token, .mirostat_mu = history.mirostat_mu};
  if (params.mirostat == 2) {
    const double surprise = -exact::Log(draw.probability) / kLn2;
    sampled.mirostat_mu -= params.mirostat_eta * (surprise - params.mirostat_tau);
  }
  return sampled;
}

std::span<float> Sampler::Adjustable(std::span<const float> logits) {
  const float scale = begun_ ? candidates_.inverse_temperature() : 1;
  const std::span<const float> from = is_adjusted_ ? adjusted_ : logits;
  if (!is_adjusted_ || scale != 1) {
    for (size_t i = 0; i < from.size(); ++i) adjusted_[i] = from[i] * scale;
  }
  is_adjusted_ = true;
  return adjusted_;
}

void Sampler::Exclude(std::span<const float> logits, const SamplingParams& params,
                      const SamplingHistory& history, std::span<const TokenId> banned,
                      std::span<const uint32_t> mask) {
  if (!params.allowed_token_ids.empty()) {
    is_adjusted_ = true;
    std::ranges::fill(adjusted_, kExcluded);
    for (const TokenId token : params.allowed_token_ids)
      adjusted_[static_cast<size_t>(token)] = logits[static_cast<size_t>(token)];
  }
  const auto exclude = [&](TokenId token) {
    Adjustable(logits)[static_cast<size_t>(token)] = kExcluded;
  };
  std::ranges::for_each(banned, exclude);
  const std::span<const TokenId> output =
      history.tokens.subspan(static_cast<size_t>(history.prompt_count));
  for (const std::vector<TokenId>& word : params.bad_words) {
    if (Completes(word, output)) exclude(word.back());
  }
  if (!mask.empty()) ExcludeOutside(mask, logits);
  for (const auto& [token, bias] : params.logit_bias)
    Adjustable(logits)[static_cast<size_t>(token)] += bias;
}

void Sampler::ExcludeOutside(std::span<const uint32_t> mask, std::span<const float> logits) {
  const float* const from = is_adjusted_ ? adjusted_.data() : logits.data();
  for (size_t word = 0; word < mask.size(); ++word) {
    const size_t begin = word * kBits.size();
    const size_t count = std::min(kBits.size(), adjusted_.size() - begin);
    const uint32_t bits = mask[word];
    float* const to = adjusted_.data() + begin;
    if (bits == 0) {
      std::fill_n(to, count, kExcluded);
      continue;
    }
    for (size_t i = 0; i < count; ++i) {
      const float logit = from[begin + i];
      to[i] = (bits & kBits[i]) != 0 ? logit : kExcluded;
    }
  }
  is_adjusted_ = true;
}

void Sampler::ApplyStage(SamplerStage stage, std::span<const float> logits,
                         const SamplingParams& params, const SamplingHistory& history,
                         const RandomKey& key) {
  if (stage == SamplerStage::kPenalties || stage == SamplerStage::kDry) {
    ApplyPenalties(stage, logits, params, history);
    return;
  }
  if (!std::exchange(begun_, true)) candidates_.Begin(is_adjusted_ ? adjusted_ : logits);
  if (stage == SamplerStage::kTemperature) {
    ApplyTemperature(params);
  } else if (params.mirostat == 0) {
    ApplyFilter(stage, params, key);
  }
}

void Sampler::ApplyPenalties(SamplerStage stage, std::span<const float> logits,
                             const SamplingParams& params, const SamplingHistory& history) {
  if (stage == SamplerStage::kPenalties) {
    if (Penalties::ArePenaltiesNeutral(params)) return;
    penalties_.Penalise(params, history.tokens, history.prompt_count, Adjustable(logits));
  } else {
    if (Penalties::IsDryNeutral(params.dry)) return;
    penalties_.PenaliseRepetition(params.dry, history.tokens, Adjustable(logits));
  }
  if (begun_) candidates_.ReplaceLogits(adjusted_);
}

void Sampler::ApplyTemperature(const SamplingParams& params) {
  if (params.dynatemp_range > 0) {
    candidates_.TemperByEntropy(std::max(params.temperature - params.dynatemp_range, 0.0),
                                params.temperature + params.dynatemp_range,
                                params.dynatemp_exponent);
  } else if (params.temperature < kGreedyTemperature) {
    candidates_.KeepTopK(1);
  } else if (params.temperature != 1) {
    candidates_.Temper(params.temperature);
  }
}

void Sampler::ApplyFilter(SamplerStage stage, const SamplingParams& params, const RandomKey& key) {
  switch (stage) {
    case SamplerStage::kTopNSigma:
      if (params.top_n_sigma > 0) candidates_.KeepTopNSigma(params.top_n_sigma);
      break;
    case SamplerStage::kTopK:
      if (params.top_k > 0) candidates_.KeepTopK(params.top_k);
      break;
    case SamplerStage::kTypicalP:
      if (params.typical_p < 1) candidates_.KeepTypical(params.typical_p);
      break;
    case SamplerStage::kTopP:
      if (params.top_p < 1) candidates_.KeepTopP(params.top_p);
      break;
    case SamplerStage::kMinP:
      if (params.min_p > 0) candidates_.KeepMinP(params.min_p);
      break;
    case SamplerStage::kXtc:
      if (params.xtc_threshold <= 0.5 && DrawFor(key, RandomPurpose::kXtc) < params.xtc_probability)
        candidates_.ExcludeTop(params.xtc_threshold);
      break;
    default:
      WEFT_CHECK(false);
  }
}

double LogSumOfExp(std::span<const float> logits) {
  const float max_logit = Largest(logits);
  const double sum =
      SumInLanes(logits.size(), [&](size_t i) { return ExpNonPositive(logits[i] - max_logit); });
  return static_cast<double>(max_logit) + exact::Log(sum);
}

Result<TokenLogprob> Sampler::Logprob(std::span<const float> logits, TokenId token,
                                      int32_t top_count) {
  if (!AllFinite(logits)) return Fail(ErrorCode::kInternal, kNotFinite);
  const double log_sum = LogSumOfExp(logits);
  const auto logprob = [&](TokenId id) {
    return static_cast<float>(static_cast<double>(logits[static_cast<size_t>(id)]) - log_sum);
  };
  const auto index = static_cast<size_t>(token);
  const float own = logits[index];
  int32_t before = 0;
  for (size_t i = 0; i < logits.size(); ++i)
    before += logits[i] > own || (logits[i] == own && i < index) ? 1 : 0;
  TokenLogprob result{.token = token, .logprob = logprob(token), .rank = before + 1, .top = {}};
  for (const TokenId id : FindTop(logits, top_count)) result.top.emplace_back(id, logprob(id));
  return result;
}

std::span<const TokenId> Sampler::FindTop(std::span<const float> row, int32_t count) {
  top_tokens_.resize(std::min(static_cast<size_t>(count), row.size()));
  TopK(row.data(), std::ssize(row), std::ssize(top_tokens_), top_tokens_.data());
  return top_tokens_;
}

Result<std::vector<std::pair<TokenId, float>>> Sampler::Rank(std::span<const float> logits,
                                                             std::span<const uint32_t> mask,
                                                             int32_t count) {
  if (!AllFinite(logits)) return Fail(ErrorCode::kInternal, kNotFinite);
  const double log_sum = LogSumOfExp(logits);
  is_adjusted_ = false;
  ExcludeOutside(mask, logits);
  std::vector<std::pair<TokenId, float>> ranked;
  for (const TokenId token : FindTop(adjusted_, count)) {
    if (!IsInMask(mask, token)) break;
    const auto logit = static_cast<double>(logits[static_cast<size_t>(token)]);
    ranked.emplace_back(token, static_cast<float>(logit - log_sum));
  }
  return ranked;
}

}  // namespace weft
