// The chain of sampler.h once more: slow, obvious, in doubles over sorted vectors, from the papers'
// and the peers' definitions alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "engine/sampler.h"

namespace weft::reference {

struct Token {
  TokenId id = 0;
  double logit = 0;
};

inline bool RanksBefore(const Token& a, const Token& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

class Row {
 public:
  explicit Row(const std::vector<float>& logits) {
    for (size_t i = 0; i < logits.size(); ++i)
      left_.push_back({static_cast<TokenId>(i), static_cast<double>(logits[i])});
  }

  void Exclude(TokenId id) {
    std::erase_if(left_, [&](const Token& token) { return token.id == id; });
  }
  void KeepOnly(const std::vector<TokenId>& ids) {
    std::erase_if(left_, [&](const Token& token) {
      return std::find(ids.begin(), ids.end(), token.id) == ids.end();
    });
  }
  void Add(TokenId id, double bias) {
    for (Token& token : left_) token.logit += token.id == id ? bias : 0;
  }

  std::vector<double> Probabilities() const {
    double largest = -std::numeric_limits<double>::infinity();
    for (const Token& token : left_) largest = std::max(largest, token.logit);
    std::vector<double> weights;
    for (const Token& token : left_) weights.push_back(std::exp(token.logit - largest));
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) weight /= total;
    return weights;
  }

  // Keskar et al., "CTRL" (2019), 4.1, with the fix for negative logits of Hugging Face's
  // RepetitionPenaltyLogitsProcessor; OpenAI's documentation of frequency and presence penalties.
  void Penalise(const SamplingParams& params, const std::vector<TokenId>& tokens,
                size_t prompt_count) {
    const size_t window =
        params.repeat_last_n < 0
            ? tokens.size()
            : std::min<size_t>(tokens.size(), static_cast<size_t>(params.repeat_last_n));
    for (Token& token : left_) {
      bool seen = false;
      int in_output = 0;
      for (size_t i = tokens.size() - window; i < tokens.size(); ++i) {
        if (tokens[i] != token.id) continue;
        seen = true;
        in_output += i >= prompt_count ? 1 : 0;
      }
      if (!seen) continue;
      token.logit = token.logit > 0 ? token.logit / params.repetition_penalty
                                    : token.logit * params.repetition_penalty;
      token.logit -= params.frequency_penalty * in_output;
      token.logit -= in_output > 0 ? params.presence_penalty : 0;
    }
    Rank();
  }

  // text-generation-webui pull request 5677; breakers as in llama.cpp: on text.
  void PenaliseRepetition(const DryParams& params, std::vector<TokenId> tokens,
                          const TokenBytes& bytes_of) {
    if (params.last_n >= 0 && tokens.size() > static_cast<size_t>(params.last_n))
      tokens.erase(tokens.begin(), tokens.end() - params.last_n);
    const size_t unbroken = CountUnbroken(params, tokens, bytes_of);
    for (Token& token : left_) {
      int longest = -1;
      for (size_t next = 1; next < tokens.size(); ++next) {
        if (tokens[next] != token.id) continue;
        size_t length = 0;
        while (length < unbroken && length < next &&
               tokens[next - 1 - length] == tokens[tokens.size() - 1 - length])
          ++length;
        longest = std::max(longest, static_cast<int>(length));
      }
      if (longest < params.allowed_length || Breaks(params, std::string(bytes_of(token.id))))
        continue;
      token.logit -= params.multiplier * std::pow(params.base, longest - params.allowed_length);
    }
    Rank();
  }

  void Temper(double temperature) {
    if (temperature < 1e-5) {
      KeepTopK(1);
      return;
    }
    for (Token& token : left_) token.logit /= temperature;
  }
  // llama.cpp's llama_sampler_init_temp_ext.
  void TemperByEntropy(const SamplingParams& params) {
    if (left_.size() < 2) return;
    double entropy = 0;
    for (const double p : Probabilities()) entropy -= p > 0 ? p * std::log(p) : 0;
    const double share = entropy / std::log(static_cast<double>(left_.size()));
    const double low = std::max(0.0, params.temperature - params.dynatemp_range);
    const double high = params.temperature + params.dynatemp_range;
    Temper(low + (high - low) * std::pow(share, params.dynatemp_exponent));
  }

  // Tang et al., "Top-nsigma: Not All Logits Are You Need" (2024), algorithm 1.
  void KeepTopNSigma(double n) {
    double mean = 0;
    double variance = 0;
    double largest = -std::numeric_limits<double>::infinity();
    for (const Token& token : left_) {
      mean += token.logit / static_cast<double>(left_.size());
      largest = std::max(largest, token.logit);
    }
    for (const Token& token : left_)
      variance += (token.logit - mean) * (token.logit - mean) / static_cast<double>(left_.size());
    const double bound = largest - n * std::sqrt(variance);
    std::erase_if(left_, [&](const Token& token) { return token.logit < bound; });
  }
  // Fan et al., "Hierarchical Neural Story Generation" (2018).
  void KeepTopK(size_t k) {
    if (k >= left_.size()) return;
    ranked_ = true;
    Rank();
    left_.resize(k);
  }
  // Holtzman et al., "The Curious Case of Neural Text Degeneration" (2020), 3.1.
  void KeepTopP(double top_p) {
    KeepFirst(top_p, [](double logit) { return -logit; });
  }
  // Meister et al., "Locally Typical Sampling" (2023), equation 12.
  void KeepTypical(double mass) {
    const std::vector<double> p = Probabilities();
    double entropy = 0;
    double log_total = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      entropy -= p[i] > 0 ? p[i] * std::log(p[i]) : 0;
      if (p[i] > 0.5 / static_cast<double>(p.size())) log_total = left_[i].logit - std::log(p[i]);
    }
    KeepFirst(mass, [&](double logit) { return std::fabs(log_total - logit - entropy); });
  }
  // Nguyen et al., "Turning Up the Heat: Min-p Sampling" (2024), 3.
  void KeepMinP(double min_p) {
    const std::vector<double> p = Probabilities();
    const double largest = *std::max_element(p.begin(), p.end());
    Keep([&](size_t i) { return p[i] >= min_p * largest; });
  }
  // text-generation-webui pull request 6335.
  void ExcludeTop(double threshold) {
    const std::vector<double> p = Probabilities();
    const Token* last = nullptr;
    for (size_t i = 0; i < p.size(); ++i) {
      if (p[i] >= threshold && (last == nullptr || RanksBefore(*last, left_[i]))) last = &left_[i];
    }
    const TokenId kept = last == nullptr ? -1 : last->id;
    Keep([&](size_t i) { return p[i] < threshold || left_[i].id == kept; });
  }
  // Basu et al., "Mirostat" (2021), algorithm 2 of the authors' code.
  void KeepSurpriseUpTo(double mu) {
    const std::vector<double> p = Probabilities();
    const double largest = *std::max_element(p.begin(), p.end());
    Keep([&](size_t i) { return -std::log2(p[i]) <= mu || p[i] == largest; });
  }

  struct Draw {
    TokenId token = 0;
    double probability = 0;
  };
  Draw DrawAt(double uniform) const {
    const std::vector<double> p = Probabilities();
    double left = uniform;
    size_t i = 0;
    while (i + 1 < p.size() && left >= p[i]) left -= p[i++];
    return {left_[i].id, p[i]};
  }
  const std::vector<Token>& left() const { return left_; }

 private:
  static size_t CountUnbroken(const DryParams& params, const std::vector<TokenId>& tokens,
                              const TokenBytes& bytes_of) {
    std::string text;
    std::vector<size_t> begins;
    for (const TokenId token : tokens) {
      begins.push_back(text.size());
      text += bytes_of(token);
    }
    size_t end = 0;
    for (size_t at = 0; at < text.size(); ++at) {
      for (const std::string& breaker : params.sequence_breakers) {
        if (text.compare(at, breaker.size(), breaker) == 0)
          end = std::max(end, at + breaker.size());
      }
    }
    return static_cast<size_t>(
        std::count_if(begins.begin(), begins.end(), [&](size_t begin) { return begin >= end; }));
  }
  static bool Breaks(const DryParams& params, const std::string& text) {
    return std::any_of(
        params.sequence_breakers.begin(), params.sequence_breakers.end(),
        [&](const std::string& breaker) { return text.find(breaker) != std::string::npos; });
  }
  template <typename Keeps>
  void Keep(const Keeps& keeps) {
    std::vector<Token> kept;
    for (size_t i = 0; i < left_.size(); ++i) {
      if (keeps(i)) kept.push_back(left_[i]);
    }
    left_ = kept;
  }
  // Those of the smallest keys that have `mass` together, at least one.
  template <typename Key>
  void KeepFirst(double mass, const Key& key) {
    const std::vector<double> p = Probabilities();
    std::vector<size_t> order(left_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const double key_a = key(left_[a].logit);
      const double key_b = key(left_[b].logit);
      return key_a != key_b ? key_a < key_b : RanksBefore(left_[a], left_[b]);
    });
    std::vector<bool> kept(left_.size());
    double sum = 0;
    for (size_t i = 0; i < order.size() && (i == 0 || sum < mass); ++i) {
      kept[order[i]] = true;
      sum += p[order[i]];
    }
    Keep([&](size_t i) { return kept[i]; });
  }
  void Rank() {
    if (ranked_) std::sort(left_.begin(), left_.end(), RanksBefore);
  }

  bool ranked_ = false;
  std::vector<Token> left_;  // by id, or by rank once KeepTopK has removed something
};

inline void ApplyStage(SamplerStage stage, const SamplingParams& params,
                       const std::vector<TokenId>& tokens, size_t prompt_count,
                       const TokenBytes& bytes_of, RandomKey key, Row& row) {
  key.purpose = RandomPurpose::kXtc;
  const bool xtc_acts = params.xtc_threshold <= 0.5 && RandomUniform(key) < params.xtc_probability;
  const bool filters = params.mirostat == 0;
  switch (stage) {
    case SamplerStage::kPenalties:
      row.Penalise(params, tokens, prompt_count);
      break;
    case SamplerStage::kDry:
      if (params.dry.multiplier > 0) row.PenaliseRepetition(params.dry, tokens, bytes_of);
      break;
    case SamplerStage::kTemperature:
      if (params.dynatemp_range > 0) {
        row.TemperByEntropy(params);
      } else {
        row.Temper(params.temperature);
      }
      break;
    case SamplerStage::kTopNSigma:
      if (filters && params.top_n_sigma > 0) row.KeepTopNSigma(params.top_n_sigma);
      break;
    case SamplerStage::kTopK:
      if (filters && params.top_k > 0) row.KeepTopK(static_cast<size_t>(params.top_k));
      break;
    case SamplerStage::kTypicalP:
      if (filters && params.typical_p < 1) row.KeepTypical(params.typical_p);
      break;
    case SamplerStage::kTopP:
      if (filters && params.top_p < 1) row.KeepTopP(params.top_p);
      break;
    case SamplerStage::kMinP:
      if (filters && params.min_p > 0) row.KeepMinP(params.min_p);
      break;
    case SamplerStage::kXtc:
      if (filters && xtc_acts) row.ExcludeTop(params.xtc_threshold);
      break;
  }
}

// What is left to draw from.
inline Row RowAfterChain(const std::vector<float>& logits, const SamplingParams& params,
                         const std::vector<TokenId>& tokens, size_t prompt_count, double mu,
                         const TokenBytes& bytes_of, const RandomKey& key,
                         const std::vector<TokenId>& banned) {
  Row row(logits);
  if (!params.allowed_token_ids.empty()) row.KeepOnly(params.allowed_token_ids);
  for (const TokenId id : banned) row.Exclude(id);
  // vLLM's apply_bad_words: the beginning is compared with the end of the output.
  const std::vector<TokenId> output(tokens.begin() + static_cast<ptrdiff_t>(prompt_count),
                                    tokens.end());
  for (const std::vector<TokenId>& word : params.bad_words) {
    if (output.size() + 1 >= word.size() &&
        std::equal(word.begin(), word.end() - 1,
                   output.end() - static_cast<ptrdiff_t>(word.size() - 1)))
      row.Exclude(word.back());
  }
  if (row.left().empty()) return row;
  for (const auto& [id, bias] : params.logit_bias) row.Add(id, static_cast<double>(bias));
  for (const SamplerStage stage : params.samplers)
    ApplyStage(stage, params, tokens, prompt_count, bytes_of, key, row);
  if (params.mirostat == 2) row.KeepSurpriseUpTo(mu);
  return row;
}

}  // namespace weft::reference
