// The answer of an endpoint that makes a vector or a score of each text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

struct TextsAnswer {
  std::string id;
  std::optional<int64_t>
      prompt_tokens;   // of its usage, if it has one; of a ranking its "meta" will do
  std::string values;  // of all texts, in their order: a line of JSON each
};

// Of so many texts each must have its embedding ({"data": [{"index", "embedding"}]}, numbers or
// base64), or its score ({"results": [{"index", "relevance_score"}]}, in any order). An error
// object in place of an answer is an error with its message.
Result<TextsAnswer> ReadTextsAnswer(std::string_view json, int32_t text_count);

}  // namespace weft
