// How a model that ranks reads a query with a document, and what of it is the score.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/spec.h"
#include "model/tensor.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {

// Of a decoder that was trained to answer a question about both. The text is `prefix`, each of
// `lead`, `body` and `suffix`, all encoded by themselves, the control tokens of the first and the
// last being such. In the others "{instruction}", "{query}" and "{document}" stand for these.
struct RankingPrompt {
  std::string prefix = {};
  std::vector<std::string> lead = {};
  std::string body = {};
  std::string suffix = {};
  std::string instruction = {};  // unless a request has one
  // Around one that a request has.
  std::string before_instruction = {};
  std::string after_instruction = {};
};

// A logit is that of the only label, or the first of two less the second; the score is of it the
// logistic function, or itself.
struct Ranking {
  std::optional<RankingPrompt> prompt = {};     // none: the tokenizer's pair of texts
  PooledOutput output = PooledOutput::kLabels;  // or kTokenLogits
  std::vector<TokenId> tokens = {};             // kTokenLogits: "relevant", or it and its opposite
  bool is_probability = true;                   // the score is
};

// What is asked for a score.
struct RankingTexts {
  std::string_view query = {};
  std::string_view document = {};
  std::optional<std::string_view> instruction = {};  // only of a model with a RankingPrompt
};

// Both texts as the model reads them. What `truncation` says of sides and of two texts is for
// pairs; of a prompt the body's end goes, which is the document's. Errors: those of
// Tokenizer::EncodePair; kInvalidArgument if there is no room for the body.
Result<EncodedText> EncodeRanking(const Ranking& ranking, const Tokenizer& tokenizer,
                                  const RankingTexts& texts, const Truncation& truncation);

// Of what the model makes of such a text: one value or two, finite.
double RankingLogit(std::span<const float> values);
double RankingScore(const Ranking& ranking, std::span<const float> values);

// 1 / (1 + e^-x), without overflow.
double Logistic(double x);

}  // namespace weft
