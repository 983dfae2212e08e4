// One kind of request in a load: what its prompts and answers look like. A load mixes several.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "loadtest/plan/lengths.h"

namespace weft {

struct Workload {
  std::string name = "default";
  double weight = 1;  // its share of the conversations, relative to the others'

  LengthDistribution prompt_tokens = ConstantLength(64);  // a turn
  LengthDistribution max_tokens = ConstantLength(64);
  // Each conversation begins with one of `shared_prefixes` texts of so many tokens, which come
  // before prompt_tokens. 0: none.
  int32_t shared_prefix_tokens = 0;
  int32_t shared_prefixes = 1;

  LengthDistribution turns = ConstantLength(1);
  std::chrono::nanoseconds think_time{0};  // before each later turn
};

}  // namespace weft
