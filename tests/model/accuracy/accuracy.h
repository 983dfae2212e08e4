// How far one computation's logits are from another's, and the logits of a text under a definition
// of the arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/model/model_fixture.h"

namespace weft {

using Logits = std::vector<std::vector<float>>;  // one row a position
using Windows = std::vector<std::vector<TokenId>>;

// A text's tokens in pieces that the model reads one by one, each from an empty cache: at most
// `count` of them, of `length` tokens each; what is left at the end is left out.
inline Windows CutIntoWindows(const Tokenizer& tokenizer, std::string_view text, size_t length,
                              size_t count) {
  const std::vector<TokenId> tokens = tokenizer.Encode(text, {.add_special_tokens = false}).value();
  Windows windows;
  for (size_t at = 0; at + length <= tokens.size() && windows.size() < count; at += length) {
    const auto begin = tokens.begin() + static_cast<ptrdiff_t>(at);
    windows.emplace_back(begin, begin + static_cast<ptrdiff_t>(length));
  }
  return windows;
}

inline Logits LogitsOf(Checkpoint checkpoint, const RunOptions& options, const Windows& windows) {
  RunnableModel model(std::move(checkpoint), options);
  Logits logits;
  for (const std::vector<TokenId>& window : windows) {
    for (std::vector<float>& row : model.RunSequence(window, 256)) logits.push_back(std::move(row));
  }
  return logits;
}
inline Logits LogitsOf(const std::string& model_path, const RunOptions& options,
                       const Windows& windows) {
  return LogitsOf(LoadOrThrow(model_path), options, windows);
}

struct Divergence {
  double mean_kl = 0;         // Kullback-Leibler divergence from the reference, nats a position
  double standard_error = 0;  // of that mean, as if positions were independent
  double worst_kl = 0;        // the largest of a position
  double same_top = 0;        // share of positions with the reference's likeliest token
};

inline std::vector<double> LogProbabilities(const std::vector<float>& logits) {
  const double maximum = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - maximum);
  std::vector<double> result(logits.begin(), logits.end());
  for (double& value : result) value -= maximum + std::log(sum);
  return result;
}

inline Divergence DivergenceFrom(const Logits& reference, const Logits& found) {
  Divergence divergence;
  double squares = 0;
  for (size_t row = 0; row < reference.size(); ++row) {
    const std::vector<double> expected = LogProbabilities(reference[row]);
    const std::vector<double> actual = LogProbabilities(found.at(row));
    double kl = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      kl += std::exp(expected[i]) * (expected[i] - actual.at(i));
    }
    divergence.mean_kl += kl;
    squares += kl * kl;
    divergence.worst_kl = std::max(divergence.worst_kl, kl);
    const auto top = [](const std::vector<double>& values) {
      return std::max_element(values.begin(), values.end()) - values.begin();
    };
    divergence.same_top += top(expected) == top(actual) ? 1 : 0;
  }
  const auto count = static_cast<double>(reference.size());
  divergence.mean_kl /= count;
  divergence.standard_error =
      std::sqrt((squares / count - divergence.mean_kl * divergence.mean_kl) / count);
  divergence.same_top /= count;
  return divergence;
}

}  // namespace weft
