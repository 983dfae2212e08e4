// The body of POST /v1/score and /score, validated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "proto/api_error.h"
#include "proto/label_scores/label_score_request.h"
#include "proto/truncation.h"

namespace weft {

inline constexpr size_t kMaxScoredTexts = 100'000;  // of a side, in one request

// The texts of one side.
struct ScoredTexts {
  std::vector<std::string> texts;  // not empty
  std::string name;                // of the field
  bool is_list = false;            // errors then name it NAME[i]
};

struct ScoreRequest {
  std::optional<std::string> model;
  ScoredTexts first;  // one, or as many as there are second ones
  ScoredTexts second;
  std::optional<std::string> instruction;
  TruncationFields truncation;
  bool raw_scores = false;          // logits
  int32_t unknown_field_count = 0;  // ignored
};

// vLLM's: a first text with each of the second ones, or pairs. Errors name the field by its JSON
// path.
ApiResult<ScoreRequest> ParseScoreRequest(std::string_view body);

// The same, or SGLang's with labels.
using AnyScoreRequest = std::variant<ScoreRequest, LabelScoreRequest>;
ApiResult<AnyScoreRequest> ParseAnyScoreRequest(std::string_view body);

}  // namespace weft
