// The bodies of POST /v1/score with labels and of /generative_scoring, validated: which of some
// tokens a decoder would write next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/api_error.h"
#include "proto/prompt.h"

namespace weft {

inline constexpr size_t kMaxLabelScoreItems = 100'000;  // in one request
inline constexpr size_t kMaxLabelTokens = 1024;

// Whose answer it is: SGLang's or vLLM's.
enum class LabelScoreShape { kSglang, kVllm };

struct LabelScoreRequest {
  std::optional<std::string> model;
  Prompt query;
  PromptList items;                      // of the query's kind
  std::vector<int32_t> label_token_ids;  // >= 0; or else
  std::vector<std::string> labels;       // texts of one token each
  bool apply_softmax = false;            // over the labels; otherwise over the vocabulary
  bool item_first = false;               // an item stands before the query
  LabelScoreShape shape = LabelScoreShape::kSglang;
  int32_t unknown_field_count = 0;  // ignored
};

// Errors name the field by its JSON path.
ApiResult<LabelScoreRequest> ParseLabelScoreRequest(std::string_view body, LabelScoreShape shape);

}  // namespace weft
