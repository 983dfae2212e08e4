// What is left of texts that have more tokens than there is room for, as Hugging Face's tokenizers
// (0.23.3) have it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/result.h"
#include "model/tensor.h"

namespace weft {

struct Truncation {
  enum class Side : uint8_t { kRight, kLeft };  // the end of a text goes, or its beginning
  enum class Of : uint8_t {                     // of which of two texts
    kLongestFirst,  // of the longer one until they are equally long, then of both
    kOnlyFirst,
    kOnlySecond,
  };

  int64_t max_tokens = std::numeric_limits<int64_t>::max();  // with the special tokens
  Side side = Side::kRight;
  Of of = Of::kLongestFirst;  // of one text: of that, whatever stands here
};

// Drops tokens of `first` and, if there is one, `second`, which have no special tokens yet and of
// which `special_count` will be added. Returns how many were dropped. kInvalidArgument: the special
// tokens alone, or the text that must stay whole, take all the room.
Result<int64_t> Truncate(const Truncation& truncation, int64_t special_count,
                         std::vector<TokenId>* first, std::vector<TokenId>* second);

}  // namespace weft
