#include "engine/sampling_params.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace weft {
namespace {

struct NumberRange {
  std::string_view name;
  double value;
  double least;
  double most;
};

struct CountRange {
  std::string_view name;
  int64_t value;
  int64_t least;
  int64_t most;
};

constexpr int64_t kAnyInt32 = std::numeric_limits<int32_t>::max();

template <typename Range>
Result<void> CheckRange(const Range& range) {
  // Written so that NaN fails.
  if (range.value >= range.least && range.value <= range.most) return {};
  return Fail(ErrorCode::kInvalidArgument, "{} is {}, but must be from {} to {}", range.name,
              range.value, range.least, range.most);
}

Result<void> CheckNumbers(const SamplingParams& params) {
  const std::array ranges = {
      NumberRange{"temperature", params.temperature, 0, 100},
      NumberRange{"dynatemp_range", params.dynatemp_range, 0, 100},
      NumberRange{"dynatemp_exponent", params.dynatemp_exponent, 0, 100},
      NumberRange{"top_p", params.top_p, 0, 1},
      NumberRange{"min_p", params.min_p, 0, 1},
      NumberRange{"typical_p", params.typical_p, 0, 1},
      NumberRange{"top_n_sigma", params.top_n_sigma, -1, 1000},
      NumberRange{"xtc_probability", params.xtc_probability, 0, 1},
      NumberRange{"xtc_threshold", params.xtc_threshold, 0, 1},
      NumberRange{"mirostat_tau", params.mirostat_tau, 0, 100},
      NumberRange{"mirostat_eta", params.mirostat_eta, 0, 1},
      NumberRange{"repetition_penalty", params.repetition_penalty, 0.01, 100},
      NumberRange{"frequency_penalty", params.frequency_penalty, -100, 100},
      NumberRange{"presence_penalty", params.presence_penalty, -100, 100},
      NumberRange{"dry_multiplier", params.dry.multiplier, 0, 100},
      NumberRange{"dry_base", params.dry.base, 1, 100},
      NumberRange{"length_penalty", params.length_penalty, -10, 10},
  };
  for (const NumberRange& range : ranges) WEFT_RETURN_IF_ERROR(CheckRange(range));
  for (const auto& [token, bias] : params.logit_bias) {
    WEFT_RETURN_IF_ERROR(CheckRange(NumberRange{"a logit bias", double{bias}, -100, 100}));
  }
  return {};
}

Result<void> CheckCounts(const SamplingParams& params) {
  const std::array ranges = {
      CountRange{"top_k", params.top_k, 0, kAnyInt32},
      CountRange{"repeat_last_n", params.repeat_last_n, -1, kAnyInt32},
      CountRange{"dry_allowed_length", params.dry.allowed_length, 0, kAnyInt32},
      CountRange{"dry_penalty_last_n", params.dry.last_n, -1, kAnyInt32},
      CountRange{"beam_width", params.beam_width, 0, sampling_limits::kBeams},
      CountRange{"max_tokens", params.max_tokens, params.beam_width > 0 ? 1 : 0, kAnyInt32},
      CountRange{"min_tokens", params.min_tokens, 0, params.max_tokens},
      CountRange{"logprobs", params.logprobs, -1, sampling_limits::kLogprobs},
      CountRange{"prompt_logprobs", params.prompt_logprob_count, 0, sampling_limits::kLogprobs},
      CountRange{"the number of stop strings", std::ssize(params.stop), 0,
                 sampling_limits::kStopStrings},
      CountRange{"the number of stop_token_ids", std::ssize(params.stop_token_ids), 0,
                 sampling_limits::kStopTokens},
      CountRange{"the number of logit biases", std::ssize(params.logit_bias), 0,
                 sampling_limits::kBiasedTokens},
      CountRange{"the number of bad words", std::ssize(params.bad_words), 0,
                 sampling_limits::kBadWords},
      CountRange{"the number of DRY sequence breakers", std::ssize(params.dry.sequence_breakers), 0,
                 sampling_limits::kDryBreakers},
  };
  for (const CountRange& range : ranges) WEFT_RETURN_IF_ERROR(CheckRange(range));
  if (params.mirostat != 0 && params.mirostat != 2)
    return Fail(ErrorCode::kInvalidArgument, "mirostat is {}, but must be 0 or 2", params.mirostat);
  if (params.max_tokens == 0 && !params.prompt_logprobs)
    return Fail(ErrorCode::kInvalidArgument,
                "max_tokens is 0, but must be 1 or more unless the prompt's log probabilities are "
                "asked for");
  return {};
}

Result<void> CheckStrings(std::string_view what, const std::vector<std::string>& strings,
                          size_t most_bytes) {
  for (const std::string& string : strings) {
    if (string.empty() || string.size() > most_bytes)
      return Fail(ErrorCode::kInvalidArgument,
                  "the length of a {} is {}, but must be from 1 to {} bytes", what, string.size(),
                  most_bytes);
  }
  return {};
}

Result<void> CheckToken(std::string_view what, TokenId token, int64_t vocab_size) {
  return CheckRange(CountRange{what, token, 0, vocab_size - 1});
}

Result<void> CheckTokens(const SamplingParams& params, int64_t vocab_size) {
  for (const TokenId token : params.stop_token_ids)
    WEFT_RETURN_IF_ERROR(CheckToken("a stop token id", token, vocab_size));
  for (const auto& [token, bias] : params.logit_bias)
    WEFT_RETURN_IF_ERROR(CheckToken("the token id of a logit bias", token, vocab_size));
  for (const TokenId token : params.allowed_token_ids)
    WEFT_RETURN_IF_ERROR(CheckToken("an allowed token id", token, vocab_size));
  if (std::ranges::adjacent_find(params.allowed_token_ids, std::ranges::greater_equal{}) !=
      params.allowed_token_ids.end())
    return Fail(ErrorCode::kInvalidArgument, "allowed_token_ids must ascend");
  for (const std::vector<TokenId>& word : params.bad_words) {
    WEFT_RETURN_IF_ERROR(
        CheckRange(CountRange{"the number of tokens of a bad word", std::ssize(word), 1,
                              sampling_limits::kBadWordTokens}));
    for (const TokenId token : word)
      WEFT_RETURN_IF_ERROR(CheckToken("the token id of a bad word", token, vocab_size));
  }
  return {};
}

Result<void> CheckSamplers(std::vector<SamplerStage> samplers) {
  std::ranges::sort(samplers);
  if (std::ranges::adjacent_find(samplers) == samplers.end()) return {};
  return Fail(ErrorCode::kInvalidArgument, "a sampler stands in the chain twice");
}

}  // namespace

std::vector<SamplerStage> DefaultSamplers() {
  return {SamplerStage::kPenalties, SamplerStage::kDry,  SamplerStage::kTemperature,
          SamplerStage::kTopNSigma, SamplerStage::kTopK, SamplerStage::kTypicalP,
          SamplerStage::kTopP,      SamplerStage::kMinP, SamplerStage::kXtc};
}

Result<void> ValidateSampling(const SamplingParams& params, int64_t vocab_size) {
  WEFT_RETURN_IF_ERROR(CheckNumbers(params));
  WEFT_RETURN_IF_ERROR(CheckCounts(params));
  WEFT_RETURN_IF_ERROR(CheckStrings("stop string", params.stop, sampling_limits::kStopStringBytes));
  WEFT_RETURN_IF_ERROR(CheckStrings("DRY sequence breaker", params.dry.sequence_breakers,
                                    sampling_limits::kDryBreakerBytes));
  WEFT_RETURN_IF_ERROR(CheckTokens(params, vocab_size));
  return CheckSamplers(params.samplers);
}

}  // namespace weft
