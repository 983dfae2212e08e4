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

// Of one choice of a stream, while it is generated (vLLM's continuous_usage_stats).
struct UsageSoFar {
  int64_t prompt_tokens = 0;  // of its prompt
  int64_t completion_tokens = 0;
};

}  // namespace weft
