// What a JSON text may come to as a tree of values, found out before there is one: a tree takes
// some hundred bytes a value, and a value may be two bytes of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace weft {

struct JsonLimits {
  size_t max_bytes = 0;  // of the text; for those who read it
  int64_t max_values = 0;
  int max_depth = 0;
};

// config.json and its like. The longest known have some 50,000 values.
inline constexpr JsonLimits kConfigJson = {16 << 20, 1 << 18, 64};
// tokenizer.json. Gemma 3's, the longest known, has 33 MB and 1.8 million values.
inline constexpr JsonLimits kTokenizerJson = {256 << 20, 3 << 20, 64};

// An error if a parser could make more of `text` than that. Only counts: what is not JSON is for
// the parser to say, which meets it before it has made more than was counted.
Result<void> CheckJsonLimits(std::string_view text, const JsonLimits& limits,
                             std::string_view path);

}  // namespace weft
