// What a request has cost, in tokens.
#pragma once

#include <cstdint>

namespace weft {

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
  int64_t cached_tokens = 0;     // of the prompt, not computed anew
  int64_t reasoning_tokens = 0;  // of the completion
};

}  // namespace weft
