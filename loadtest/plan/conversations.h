// What a generated load says: conversations drawn from workloads.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "loadtest/plan/hostile.h"
#include "loadtest/plan/load_plan.h"
#include "loadtest/plan/plan_options.h"
#include "loadtest/plan/workload.h"

namespace weft {

class Conversations {
 public:
  // Reads the files of prompts. Adds the profiles and given prompts to `plan`.
  static Result<Conversations> Open(const PlanOptions& options, LoadPlan& plan);

  // Appends the next one, whose first turn leaves at `send_at`, of at most `turn_limit` turns (>
  // 0).
  void Append(LoadPlan& plan, std::chrono::nanoseconds send_at, int64_t turn_limit);

  // How many there are before a prompt of a file is sent again; 0: no end.
  int32_t distinct_count() const;

 private:
  struct Profile {
    Workload workload;
    double weight_end = 0;  // the weights up to and with this one
    int32_t first_given_prompt = -1;
    std::vector<std::optional<int32_t>> given_max_tokens;  // one a given prompt
    size_t conversation_count = 0;                         // so far
  };

  explicit Conversations(const PlanOptions& options) : options_(options) {}
  Result<void> AddProfile(const Workload& workload, LoadPlan& plan);
  size_t DrawProfile(Random& random) const;
  PlannedRequest FirstTurn(size_t profile_index, uint64_t request_index, Random& random);
  PlannedRequest Turn(size_t profile_index, uint64_t request_index, Random& random);

  PlanOptions options_;
  std::vector<Profile> profiles_;
  uint64_t conversation_count_ = 0;
};

}  // namespace weft
