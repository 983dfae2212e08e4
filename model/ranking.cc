#include "model/ranking.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/check.h"
#include "base/exact_math.h"

namespace weft {
namespace {

// In one pass, so that a text may have what looks like a place for another.
std::string Filled(std::string_view part, std::string_view instruction, const RankingTexts& texts) {
  const std::array<std::pair<std::string_view, std::string_view>, 3> places = {{
      {"{instruction}", instruction},
      {"{query}", texts.query},
      {"{document}", texts.document},
  }};
  std::string filled;
  std::string_view rest = part;
  while (!rest.empty()) {
    size_t length = 1;
    std::string_view text = rest.substr(0, 1);
    for (const auto& [place, value] : places) {
      if (!rest.starts_with(place)) continue;
      length = place.size();
      text = value;
    }
    filled += text;
    rest.remove_prefix(length);
  }
  return filled;
}

void Append(const std::vector<TokenId>& tokens, std::vector<TokenId>& to) {
  to.insert(to.end(), tokens.begin(), tokens.end());
}

Result<EncodedText> EncodePrompt(const RankingPrompt& prompt, const Tokenizer& tokenizer,
                                 const RankingTexts& texts, int64_t max_tokens) {
  constexpr EncodeOptions kTrusted = {.add_special_tokens = false};
  constexpr EncodeOptions kUntrusted = {.add_special_tokens = false, .parse_special_tokens = false};
  WEFT_ASSIGN_OR_RETURN(const std::vector<TokenId> prefix,
                        tokenizer.Encode(prompt.prefix, kTrusted));
  WEFT_ASSIGN_OR_RETURN(const std::vector<TokenId> suffix,
                        tokenizer.Encode(prompt.suffix, kTrusted));
  const int64_t room = max_tokens - std::ssize(prefix) - std::ssize(suffix);
  if (room < 1) {
    return Fail(ErrorCode::kInvalidArgument,
                "the model's prompt takes {} tokens around the texts, of {} in all",
                prefix.size() + suffix.size(), max_tokens);
  }
  std::string instruction = prompt.instruction;
  if (texts.instruction) {
    instruction = prompt.before_instruction;
    instruction.append(*texts.instruction).append(prompt.after_instruction);
  }
  EncodedText encoded{.ids = prefix};
  const auto encode = [&](std::string_view part) -> Result<void> {
    WEFT_ASSIGN_OR_RETURN(const std::vector<TokenId> ids,
                          tokenizer.Encode(Filled(part, instruction, texts), kUntrusted));
    Append(ids, encoded.ids);
    return {};
  };
  for (const std::string& part : prompt.lead) WEFT_RETURN_IF_ERROR(encode(part));
  WEFT_RETURN_IF_ERROR(encode(prompt.body));
  const int64_t most = std::ssize(prefix) + room;
  encoded.dropped_count = std::max<int64_t>(std::ssize(encoded.ids) - most, 0);
  encoded.ids.resize(encoded.ids.size() - static_cast<size_t>(encoded.dropped_count));
  Append(suffix, encoded.ids);
  return encoded;
}

}  // namespace

Result<EncodedText> EncodeRanking(const Ranking& ranking, const Tokenizer& tokenizer,
                                  const RankingTexts& texts, const Truncation& truncation) {
  if (ranking.prompt) {
    return EncodePrompt(*ranking.prompt, tokenizer, texts, truncation.max_tokens);
  }
  WEFT_CHECK(!texts.instruction);
  return tokenizer.EncodePair(texts.query, texts.document, {.parse_special_tokens = false},
                              truncation);
}

double RankingLogit(std::span<const float> values) {
  WEFT_CHECK(values.size() == 1 || values.size() == 2);
  return values.size() == 1 ? double{values[0]} : double{values[0]} - double{values[1]};
}

double RankingScore(const Ranking& ranking, std::span<const float> values) {
  const double logit = RankingLogit(values);
  return ranking.is_probability ? Logistic(logit) : logit;
}

double Logistic(double x) {
  const double power = exact::Exp(-std::abs(x));  // at most 1
  return x >= 0 ? 1 / (1 + power) : power / (1 + power);
}

}  // namespace weft
