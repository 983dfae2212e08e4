#include "engine/sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/exact_math.h"
#include "engine/sampling_math.h"
#include "model/kernels/kernels.h"

namespace weft {
namespace {

constexpr size_t kLanes = 16;
constexpr size_t kWeightBlock = 256;
constexpr char kNotFinite[] = "the model's logits are not finite";

struct RanksBefore {
  std::span<const float> logits;
  bool operator()(TokenId a, TokenId b) const {
    const float logit_a = logits[static_cast<size_t>(a)];
    const float logit_b = logits[static_cast<size_t>(b)];
    return logit_a != logit_b ? logit_a > logit_b : a < b;
  }
};

bool AllFinite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7F800000;
  uint32_t not_finite = 0;
  for (const float value : values)
    not_finite |= (std::bit_cast<uint32_t>(value) & kExponent) == kExponent ? 1U : 0U;
  return not_finite == 0;
}

float Largest(std::span<const float> values) {
  std::array<float, kLanes> lanes;
  lanes.fill(-std::numeric_limits<float>::infinity());
  const size_t whole = values.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = values[i + lane] > lanes[lane] ? values[i + lane] : lanes[lane];
  }
  float largest = *std::max_element(lanes.begin(), lanes.end());
  for (size_t i = whole; i < values.size(); ++i) largest = std::max(largest, values[i]);
  return largest;
}

// Element i goes into lane i % 16, then the lanes are added in order.
template <typename Term>
double SumInLanes(size_t count, const Term& term) {
  std::array<double, kLanes> lanes{};
  const size_t whole = count / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += static_cast<double>(term(i + lane));
  }
  for (size_t i = whole; i < count; ++i) lanes[i - whole] += static_cast<double>(term(i));
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

Sampler::Sampler(int64_t vocab_size)
    : allowed_logits_(static_cast<size_t>(vocab_size)),
      weights_(static_cast<size_t>(vocab_size)),
      block_sums_((static_cast<size_t>(vocab_size) + kWeightBlock - 1) / kWeightBlock),
      candidates_(static_cast<size_t>(vocab_size)) {}

int64_t Sampler::ScratchBytes(int64_t vocab_size) {
  constexpr int64_t kPerToken = 2 * sizeof(float) + sizeof(TokenId);
  constexpr int64_t kPerBlock = sizeof(double);
  return vocab_size * kPerToken + CeilDivide(vocab_size, int64_t{kWeightBlock}) * kPerBlock;
}

Result<TokenId> Sampler::Sample(std::span<const float> logits, const SamplingParams& params,
                                const RandomKey& key, std::span<const TokenId> banned) {
  WEFT_CHECK(logits.size() == weights_.size());
  if (!AllFinite(logits)) return Fail(ErrorCode::kInternal, kNotFinite);
  if (!banned.empty()) {
    std::copy(logits.begin(), logits.end(), allowed_logits_.begin());
    for (const TokenId token : banned)
      allowed_logits_[static_cast<size_t>(token)] = -std::numeric_limits<float>::infinity();
    logits = allowed_logits_;
  }
  const float max_logit = Largest(logits);
  if (std::isinf(max_logit))
    return Fail(ErrorCode::kInvalidArgument,
                "min_tokens and the stop tokens leave no token to generate");
  if (params.temperature < kGreedyTemperature || params.top_k == 1) {
    return static_cast<TokenId>(std::find(logits.begin(), logits.end(), max_logit) -
                                logits.begin());
  }
  const auto inverse_temperature = static_cast<float>(1 / params.temperature);
  const double uniform = RandomUniform(key);
  const auto vocab_size = static_cast<int64_t>(logits.size());
  const int64_t top_k = params.top_k > 0 ? std::min<int64_t>(params.top_k, vocab_size) : vocab_size;
  if (top_k == vocab_size && params.top_p >= 1) {
    const double total = Weigh(logits, max_logit, inverse_temperature, params.min_p);
    return DrawFromAll(total, uniform);
  }
  if (top_k < vocab_size) {
    RankTopK(logits, static_cast<size_t>(top_k));
    for (const TokenId token : candidates_) {
      const auto i = static_cast<size_t>(token);
      weights_[i] = ExpNonPositive((logits[i] - max_logit) * inverse_temperature);
    }
    while (WeightOf(candidates_.back()) == 0) candidates_.pop_back();
    CutCandidates(params, CandidateWeight());
  } else {
    const double total = Weigh(logits, max_logit, inverse_temperature, 0);
    RankTopP(logits, max_logit, inverse_temperature, params.top_p * total);
    CutCandidates(params, total);
  }
  return DrawFromCandidates(uniform);
}

double Sampler::Weigh(std::span<const float> logits, float max_logit, float inverse_temperature,
                      double min_weight) {
  const auto threshold = static_cast<float>(min_weight);
  for (size_t i = 0; i < logits.size(); ++i) {
    const float weight = ExpNonPositive((logits[i] - max_logit) * inverse_temperature);
    weights_[i] = weight < threshold ? 0.0F : weight;
  }
  double total = 0;
  for (size_t block = 0; block < block_sums_.size(); ++block) {
    const size_t first = block * kWeightBlock;
    const size_t count = std::min(kWeightBlock, weights_.size() - first);
    block_sums_[block] = SumInLanes(count, [&](size_t i) { return weights_[first + i]; });
    total += block_sums_[block];
  }
  return total;
}

TokenId Sampler::DrawFromAll(double total, double uniform) const {
  double left = uniform * total;
  size_t block = 0;
  while (block + 1 < block_sums_.size() && left >= block_sums_[block]) left -= block_sums_[block++];
  // The last token with a weight takes what rounding leaves over.
  size_t drawn = 0;
  const size_t end = std::min((block + 1) * kWeightBlock, weights_.size());
  for (size_t i = block * kWeightBlock; i < end; ++i) {
    const auto weight = static_cast<double>(weights_[i]);
    if (weight == 0) continue;
    drawn = i;
    if (left < weight) break;
    left -= weight;
  }
  return static_cast<TokenId>(drawn);
}

void Sampler::RankTopK(std::span<const float> logits, size_t top_k) {
  // Whenever room runs out, only the first top_k of those seen stay, and the last of them is what
  // others have to exceed: equal ones have higher ids.
  const RanksBefore ranks_before{logits};
  const size_t room = std::max<size_t>(4 * top_k, 1024);
  const auto keep_top_k = [&] {
    if (candidates_.size() <= top_k) return;
    const auto last = candidates_.begin() + static_cast<ptrdiff_t>(top_k) - 1;
    std::nth_element(candidates_.begin(), last, candidates_.end(), ranks_before);
    candidates_.resize(top_k);
  };
  candidates_.clear();
  float exceeded = -std::numeric_limits<float>::infinity();
  for (size_t first = 0; first < logits.size(); first += kLanes) {
    const size_t end = std::min(first + kLanes, logits.size());
    int found = 0;
    for (size_t i = first; i < end; ++i) found |= logits[i] > exceeded ? 1 : 0;
    if (found == 0) continue;  // nearly always
    for (size_t i = first; i < end; ++i) {
      if (logits[i] > exceeded) candidates_.push_back(static_cast<TokenId>(i));
    }
    if (candidates_.size() <= room) continue;
    keep_top_k();
    exceeded = logits[static_cast<size_t>(candidates_.back())];
  }
  keep_top_k();
  std::sort(candidates_.begin(), candidates_.end(), ranks_before);
}

void Sampler::RankTopP(std::span<const float> logits, float max_logit, float inverse_temperature,
                       double limit) {
  // A histogram over the distance from the largest logit finds how far down to look without
  // sorting the vocabulary. Weights vanish beyond a distance of 87.
  constexpr size_t kBucketsPerUnit = 16;
  constexpr size_t kBuckets = 88 * kBucketsPerUnit;
  std::array<double, kBuckets> sums{};
  const auto bucket_of = [&](size_t i) {
    const float distance = (max_logit - logits[i]) * inverse_temperature;
    return static_cast<size_t>(distance * float{kBucketsPerUnit});
  };
  for (size_t i = 0; i < logits.size(); ++i) {
    if (weights_[i] != 0) sums[bucket_of(i)] += static_cast<double>(weights_[i]);
  }
  size_t last_bucket = 0;
  for (double sum = sums[0]; last_bucket + 1 < kBuckets && sum < limit;) sum += sums[++last_bucket];
  candidates_.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (weights_[i] != 0 && bucket_of(i) <= last_bucket)
      candidates_.push_back(static_cast<TokenId>(i));
  }
  std::sort(candidates_.begin(), candidates_.end(), RanksBefore{logits});
}

double Sampler::CandidateWeight() const {
  double sum = 0;
  for (const TokenId token : candidates_) sum += WeightOf(token);
  return sum;
}

void Sampler::CutCandidates(const SamplingParams& params, double total) {
  size_t kept = candidates_.size();
  if (params.top_p < 1) {
    kept = 0;
    double sum = 0;
    do {
      sum += WeightOf(candidates_[kept++]);
    } while (kept < candidates_.size() && sum < params.top_p * total);
  }
  while (kept > 1 && WeightOf(candidates_[kept - 1]) < params.min_p) --kept;
  candidates_.resize(kept);
}

TokenId Sampler::DrawFromCandidates(double uniform) const {
  double left = uniform * CandidateWeight();
  for (const TokenId token : candidates_) {
    if (left < WeightOf(token)) return token;
    left -= WeightOf(token);
  }
  return candidates_.back();
}

Result<TokenLogprob> Sampler::Logprob(std::span<const float> logits, TokenId token,
                                      int32_t top_count) {
  if (!AllFinite(logits)) return Fail(ErrorCode::kInternal, kNotFinite);
  const float max_logit = Largest(logits);
  const double sum =
      SumInLanes(logits.size(), [&](size_t i) { return ExpNonPositive(logits[i] - max_logit); });
  const double log_sum = static_cast<double>(max_logit) + exact::Log(sum);
  const auto logprob = [&](TokenId id) {
    return static_cast<float>(static_cast<double>(logits[static_cast<size_t>(id)]) - log_sum);
  };
  TokenLogprob result{.token = token, .logprob = logprob(token), .top = {}};
  const size_t count = std::min(static_cast<size_t>(top_count), logits.size());
  candidates_.resize(count);
  TopK(logits.data(), std::ssize(logits), static_cast<int64_t>(count), candidates_.data());
  for (const TokenId id : candidates_) result.top.emplace_back(id, logprob(id));
  return result;
}

Result<void> ValidateSampling(const SamplingParams& params, int64_t vocab_size) {
  const auto refuse = [](std::string_view name, auto found, std::string_view expected) {
    return Fail(ErrorCode::kInvalidArgument, "{} is {}, but must be {}", name, found, expected);
  };
  // The comparisons are written so that NaN fails them.
  if (!(params.temperature >= 0 && params.temperature <= kMaxTemperature))
    return refuse("temperature", params.temperature, "from 0 to 100");
  if (params.top_k < 0) return refuse("top_k", params.top_k, "0 (all) or more");
  if (!(params.top_p >= 0 && params.top_p <= 1))
    return refuse("top_p", params.top_p, "from 0 to 1");
  if (!(params.min_p >= 0 && params.min_p <= 1))
    return refuse("min_p", params.min_p, "from 0 to 1");
  if (params.max_tokens < 0) return refuse("max_tokens", params.max_tokens, "0 or more");
  if (params.max_tokens == 0 && !params.prompt_logprobs)
    return refuse("max_tokens", 0, "1 or more unless the prompt's log probabilities are asked for");
  if (params.min_tokens < 0 || params.min_tokens > params.max_tokens)
    return refuse("min_tokens", params.min_tokens, "from 0 to max_tokens");
  if (params.logprobs < -1 || params.logprobs > kMaxLogprobs)
    return refuse("logprobs", params.logprobs, "from 0 to 100");
  if (params.stop.size() > kMaxStopStrings)
    return refuse("the number of stop strings", params.stop.size(), "at most 32");
  for (const std::string& stop : params.stop) {
    if (stop.empty() || stop.size() > kMaxStopStringBytes)
      return refuse("the length of a stop string", stop.size(), "from 1 to 1024 bytes");
  }
  if (params.stop_token_ids.size() > kMaxStopTokens)
    return refuse("the number of stop_token_ids", params.stop_token_ids.size(), "at most 128");
  for (const TokenId token : params.stop_token_ids) {
    if (token < 0 || token >= vocab_size)
      return refuse("a stop token id", token, fmt::format("from 0 to {}", vocab_size - 1));
  }
  return {};
}

}  // namespace weft
