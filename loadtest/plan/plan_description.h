// A plan in a few figures: for a person to see before it is sent, and for its report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loadtest/plan/load_plan.h"

namespace weft {

// Of generated prompts: those of given ones are not known.
struct TokenCounts {
  int64_t sum = 0;
  int32_t least = 0;
  int32_t greatest = 0;
};

struct PlanDescription {
  // Of all requests or of one profile's.
  struct Part {
    std::string name;
    int64_t request_count = 0;
    int64_t conversation_count = 0;
    TokenCounts prompt_tokens;  // of a turn: without what was said before
    TokenCounts max_tokens;
  };

  Part all;
  std::vector<Part> profiles;
  int64_t cancel_count = 0;
  int64_t stall_count = 0;
  int64_t malformed_count = 0;
  // Open loop: until the last conversation begins, and conversations a second of that. 0 in a
  // closed loop.
  double span_s = 0;
  double mean_rate = 0;
  // Prompt tokens that a request before, in the plan's order, began with too: what a prefix cache
  // of unlimited size need not compute (earlier turns of a conversation come on top).
  int64_t shared_prompt_tokens = 0;
};

// Of everything on the list: a closed loop that is limited by time sends less.
PlanDescription DescribePlan(const LoadPlan& plan);

}  // namespace weft
