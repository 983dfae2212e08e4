// What a request says of texts that have too many tokens.
#pragma once

#include <cstdint>
#include <optional>

namespace weft {

struct TruncationFields {
  bool is_offered = true;                  // the endpoint takes such fields
  bool is_wanted = false;                  // otherwise they are refused
  bool keeps_end = false;                  // the beginning goes
  std::optional<int32_t> max_tokens = {};  // >= 1, with the special tokens; nullopt: the model's
};

}  // namespace weft
