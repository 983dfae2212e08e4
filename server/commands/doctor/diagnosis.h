// What would make models faster on a machine, or stands in their way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/kernels/kernels.h"
#include "server/commands/doctor/machine_facts.h"

namespace weft {

enum class FindingKind {
  kGood,     // as it should be
  kNote,     // good to know
  kProblem,  // costs much, and somebody can do something about it
};
std::string_view NameOf(FindingKind kind);  // "good"

struct Finding {
  FindingKind kind = FindingKind::kGood;
  std::string_view about;  // "processor"
  std::string text;        // what was found; of a problem, what to do
};

// `isa`: what would be computed with.
std::vector<Finding> Diagnose(const MachineFacts& facts, const CpuFeatures& cpu, Isa isa);

}  // namespace weft
