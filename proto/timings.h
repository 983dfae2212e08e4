// Where a request's time went on the server: the "timings" of an answer, as llama.cpp's server has
// it.
#pragma once

#include <cstdint>

namespace weft {

struct Timings {
  int64_t cached_tokens = 0;     // of the prompts, not computed
  int64_t prompt_tokens = 0;     // computed
  int64_t predicted_tokens = 0;  // generated
  double queue_ms = 0;           // until the first step
  double prompt_ms = 0;          // from there to the first token
  double predicted_ms = 0;       // from there to the end
};

}  // namespace weft
