#include "engine/penalties.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/exact_math.h"

namespace weft {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

std::span<const TokenId> Window(std::span<const TokenId> tokens, int32_t last_n) {
  if (last_n < 0) return tokens;
  return tokens.last(std::min(tokens.size(), static_cast<size_t>(last_n)));
}

bool IsExcluded(float logit) { return logit == -std::numeric_limits<float>::infinity(); }

float Clamped(double logit) {
  return static_cast<float>(std::clamp(logit, -double{kLargest}, double{kLargest}));
}

}  // namespace

Penalties::Penalties(int64_t vocab_size, TokenBytes token_bytes)
    : token_bytes_(std::move(token_bytes)), counts_(static_cast<size_t>(vocab_size)) {}

int64_t Penalties::ScratchBytes(int64_t vocab_size) {
  constexpr int64_t kPerToken = sizeof(int32_t);
  return vocab_size * kPerToken;
}

bool Penalties::ArePenaltiesNeutral(const SamplingParams& params) {
  return (params.repetition_penalty == 1 && params.frequency_penalty == 0 &&
          params.presence_penalty == 0) ||
         params.repeat_last_n == 0;
}

void Penalties::Penalise(const SamplingParams& params, std::span<const TokenId> tokens,
                         int32_t prompt_count, std::span<float> logits) {
  const std::span<const TokenId> window = Window(tokens, params.repeat_last_n);
  const size_t window_begin = tokens.size() - window.size();
  const auto prompt_size = static_cast<size_t>(prompt_count);
  // counts_ is one more than how often the output has a token: 1 for one of the prompt alone.
  for (size_t i = 0; i < window.size(); ++i) {
    int32_t& count = counts_[static_cast<size_t>(window[i])];
    count = std::max(count, 1) + (window_begin + i >= prompt_size ? 1 : 0);
  }
  for (const TokenId token : window) {
    const auto index = static_cast<size_t>(token);
    const int32_t output_count = std::exchange(counts_[index], 0) - 1;
    if (output_count < 0 || IsExcluded(logits[index])) continue;  // done already, or excluded
    double logit = double{logits[index]};
    logit = logit > 0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    if (output_count > 0)
      logit -= params.frequency_penalty * output_count + params.presence_penalty;
    logits[index] = Clamped(logit);
  }
}

bool Penalties::IsDryNeutral(const DryParams& params) {
  return params.multiplier == 0 || params.last_n == 0;
}

void Penalties::PenaliseRepetition(const DryParams& params, std::span<const TokenId> tokens,
                                   std::span<float> logits) {
  const std::span<const TokenId> window = Window(tokens, params.last_n);
  const auto allowed = static_cast<size_t>(params.allowed_length);
  const size_t longest_match = MatchSuffixes(window);
  if (window.size() < 2 || longest_match < allowed) return;
  const size_t unbroken = CountUnbroken(params, window, longest_match);
  if (unbroken < allowed) return;
  // counts_ is one more than the longest repetition that the token would lengthen.
  const auto next_after = [&](size_t k) { return static_cast<size_t>(window[window.size() - k]); };
  for (size_t k = 1; k < window.size(); ++k) {
    const int32_t length = std::min(suffix_matches_[k], static_cast<int32_t>(unbroken));
    int32_t& longest = counts_[next_after(k)];
    if (length >= params.allowed_length) longest = std::max(longest, length + 1);
  }
  for (size_t k = 1; k < window.size(); ++k) {
    const size_t token = next_after(k);
    const int32_t longest = std::exchange(counts_[token], 0) - 1;
    if (longest < 0 || IsExcluded(logits[token]) || Breaks(params, static_cast<TokenId>(token)))
      continue;
    const double penalty =
        params.multiplier * exact::Pow(params.base, longest - params.allowed_length);
    logits[token] = Clamped(double{logits[token]} - penalty);
  }
}

bool Penalties::Breaks(const DryParams& params, TokenId token) const {
  if (!token_bytes_) return false;
  const std::string_view bytes = token_bytes_(token);
  return std::ranges::any_of(params.sequence_breakers, [&](const std::string& breaker) {
    return bytes.find(breaker) != std::string_view::npos;
  });
}

size_t Penalties::CountUnbroken(const DryParams& params, std::span<const TokenId> tokens,
                                size_t enough) const {
  if (!token_bytes_ || params.sequence_breakers.empty()) return tokens.size();
  size_t longest_breaker = 0;
  for (const std::string& breaker : params.sequence_breakers)
    longest_breaker = std::max(longest_breaker, breaker.size());
  // Most texts have a breaker close to their end.
  for (size_t count = 64;; count *= 4) {
    const std::span<const TokenId> tail = tokens.last(std::min(tokens.size(), count));
    std::string text;
    for (const TokenId token : tail) text += token_bytes_(token);
    size_t end = 0;  // of the breaker that ends last
    for (const std::string& breaker : params.sequence_breakers) {
      const size_t found = text.rfind(breaker);
      if (found != std::string::npos) end = std::max(end, found + breaker.size());
    }
    // One that begins before the tail ends before `longest_breaker`.
    const bool is_certain = end >= longest_breaker || tail.size() == tokens.size();
    if (!is_certain) end = longest_breaker;
    size_t unbroken = 0;
    for (size_t begin = text.size(); unbroken < tail.size(); ++unbroken) {
      begin -= token_bytes_(tail[tail.size() - 1 - unbroken]).size();
      if (begin < end) break;
    }
    if (is_certain || unbroken >= enough) return unbroken;
  }
}

size_t Penalties::MatchSuffixes(std::span<const TokenId> tokens) {
  // The Z function (Gusfield, "Algorithms on Strings, Trees, and Sequences", 1.3) of the tokens
  // read backwards.
  const size_t count = tokens.size();
  const auto at = [&](size_t i) { return tokens[count - 1 - i]; };
  suffix_matches_.assign(count, 0);
  size_t box_begin = 0;  // at(box_begin + i) == at(i) for i < box_end - box_begin
  size_t box_end = 0;
  for (size_t k = 1; k < count; ++k) {
    size_t length = 0;
    if (k < box_end)
      length = std::min(box_end - k, static_cast<size_t>(suffix_matches_[k - box_begin]));
    while (k + length < count && at(length) == at(k + length)) ++length;
    suffix_matches_[k] = static_cast<int32_t>(length);
    if (k + length > box_end) {
      box_begin = k;
      box_end = k + length;
    }
  }
  return count == 0 ? 0 : static_cast<size_t>(std::ranges::max(suffix_matches_));
}

}  // namespace weft
