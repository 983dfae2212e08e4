// One kind of request in a load: what its prompts and answers look like. A load mixes several.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "loadtest/plan/lengths.h"

namespace weft {

struct Workload {
  std::string name = "default";
  double weight = 1;  // its share of the conversations, relative to the others'

  LengthDistribution max_tokens = ConstantLength(64);
  LengthDistribution prompt_tokens = ConstantLength(64);  // a turn
  // Each conversation begins with one of `shared_prefixes` texts of so many tokens, which come
  // before prompt_tokens. 0: none.
  int32_t shared_prefix_tokens = 0;
  int32_t shared_prefixes = 1;

  LengthDistribution turns = ConstantLength(1);
  std::chrono::nanoseconds think_time{0};  // before each later turn

  // Prompts that are given, not generated: one text, or those of a file in their order, again and
  // again. They have one turn and no shared prefixes. Empty: none.
  std::string prompt;
  std::string prompts_path;

  bool is_given() const { return !prompt.empty() || !prompts_path.empty(); }
};

// "name=chat,weight=3,prompt-tokens=200-400,...": the keys are name, weight and the command line's
// options for workloads, without their dashes. What is not stated is as in `defaults`.
Result<Workload> ParseProfile(std::string_view text, const Workload& defaults);

// Ranges, and what does not go together. The error names the option, and the profile if it is not
// the default.
Result<void> CheckWorkload(const Workload& workload);

}  // namespace weft
