// How far a prompt is, for those who wait for a long one.
#pragma once

#include <cstdint>

namespace weft {

// In tokens and milliseconds.
struct PromptProgressNumbers {
  int64_t total = 0;
  int64_t cached = 0;
  int64_t processed = 0;  // those cached included
  double time_ms = 0;
};

}  // namespace weft
