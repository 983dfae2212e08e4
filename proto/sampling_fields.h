// The fields of a request that say how its tokens are chosen, what ends its text and what it shares
// with other requests: the same on every endpoint that generates.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "proto/api_error.h"

namespace weft {

inline constexpr int32_t kMaxStopStrings = 16;
inline constexpr int32_t kMaxStopStringBytes = 1024;
inline constexpr int32_t kMaxStopTokenIds = 128;
inline constexpr int32_t kMaxBiasedTokens = 1024;
inline constexpr int32_t kMaxAllowedTokenIds = 262'144;
inline constexpr int32_t kMaxBadWords = 256;
inline constexpr int32_t kMaxBadWordBytes = 128;
inline constexpr int32_t kMaxDryBreakers = 32;
inline constexpr int32_t kMaxDryBreakerBytes = 64;
inline constexpr int32_t kMaxCacheSaltBytes = 1024;

// Every value is in its range, every default filled in. Token ids are >= 0; whether the vocabulary
// has them is the server's to check. docs/API.md says what each does.
struct SamplingFields {
  double temperature = 1.0;
  double dynatemp_range = 0.0;
  double dynatemp_exponent = 1.0;
  int32_t top_k = 0;  // 0: all
  double top_p = 1.0;
  double min_p = 0.0;
  double typical_p = 1.0;
  double top_n_sigma = -1.0;  // 0 and below: all
  double xtc_probability = 0.0;
  double xtc_threshold = 0.1;
  int32_t mirostat = 0;  // 0 or 2
  double mirostat_tau = 5.0;
  double mirostat_eta = 0.1;
  double repetition_penalty = 1.0;
  double frequency_penalty = 0.0;
  double presence_penalty = 0.0;
  int32_t repeat_last_n = -1;  // -1: all
  double dry_multiplier = 0.0;
  double dry_base = 1.75;
  int32_t dry_allowed_length = 2;
  int32_t dry_penalty_last_n = -1;  // -1: all
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
  std::optional<std::vector<std::string>> samplers;  // names among SamplerNames(), none twice
  std::vector<std::pair<int32_t, double>> logit_bias;
  std::vector<int32_t> allowed_token_ids;  // empty: all
  std::vector<std::string> bad_words;
  std::optional<uint64_t> seed;
  int32_t min_tokens = 0;
  bool ignore_eos = false;
  std::vector<std::string> stop;
  std::vector<int32_t> stop_token_ids;
  bool include_stop = false;
  bool cache_prompt = true;
  std::optional<std::string> cache_salt;  // not empty
};

// The numbers among them, by all their names, in the order of docs/API.md.
nlohmann::ordered_json SamplingJson(const SamplingFields& fields);

// "penalties", "dry", "temperature", "top_n_sigma", "top_k", "typical_p", "top_p", "min_p", "xtc".
std::span<const std::string_view> SamplerNames();

// `body` is an object. Errors name the field by its JSON path. A field about generation that Weft
// does not have yet is refused by name (code "unsupported_parameter") unless its value changes
// nothing.
ApiResult<void> ReadSamplingFields(const nlohmann::json& body, SamplingFields& fields);

// Refuses by name the fields that choose among tokens by chance or by rules of their own, and what
// else beam search cannot have: it takes the likeliest.
ApiResult<void> CheckBeamSearch(const SamplingFields& fields);

// Whether ReadSamplingFields knows the name, so that it is no unknown field.
bool IsSamplingField(std::string_view name);

}  // namespace weft
