#include "loadtest/plan/plan_description.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "loadtest/plan/random.h"

namespace weft {
namespace {

void Count(int32_t tokens, bool is_first, TokenCounts& counts) {
  counts.sum += tokens;
  counts.least = is_first ? tokens : std::min(counts.least, tokens);
  counts.greatest = std::max(counts.greatest, tokens);
}

void CountRequest(const PlannedRequest& request, PlanDescription::Part& part) {
  const bool is_first = part.request_count == 0;
  int32_t prompt_tokens = 0;
  for (const PromptSegment& segment : request.segments) prompt_tokens += segment.token_count;
  ++part.request_count;
  if (request.previous_turn < 0) ++part.conversation_count;
  Count(prompt_tokens, is_first, part.prompt_tokens);
  Count(request.max_tokens, is_first, part.max_tokens);
}

int64_t SharedPromptTokens(const LoadPlan& plan) {
  int64_t shared = 0;
  // By the segments before one and its seed: its greatest length so far.
  std::unordered_map<uint64_t, int32_t> seen;
  for (const PlannedRequest& request : plan.requests) {
    uint64_t chain = 0;
    bool is_shared = true;
    for (const PromptSegment& segment : request.segments) {
      chain = MixSeed(chain, segment.seed);
      int32_t& seen_tokens = seen[chain];
      if (is_shared) shared += std::min(seen_tokens, segment.token_count);
      is_shared = is_shared && seen_tokens == segment.token_count;
      seen_tokens = std::max(seen_tokens, segment.token_count);
      chain = MixSeed(chain, static_cast<uint64_t>(segment.token_count));
    }
  }
  return shared;
}

}  // namespace

PlanDescription DescribePlan(const LoadPlan& plan) {
  PlanDescription description;
  for (const std::string& name : plan.profiles) description.profiles.emplace_back().name = name;
  std::chrono::nanoseconds last{0};
  for (const PlannedRequest& request : plan.requests) {
    CountRequest(request, description.all);
    CountRequest(request, description.profiles[static_cast<size_t>(request.profile)]);
    last = std::max(last, request.send_at);
    if (request.behaviour == Behaviour::kCancel) ++description.cancel_count;
    if (request.behaviour == Behaviour::kStall) ++description.stall_count;
    if (request.behaviour == Behaviour::kMalformed) ++description.malformed_count;
  }
  description.span_s = std::chrono::duration<double>(last).count();
  if (description.span_s > 0) {
    description.mean_rate =
        static_cast<double>(description.all.conversation_count) / description.span_s;
  }
  description.shared_prompt_tokens = SharedPromptTokens(plan);
  return description;
}

}  // namespace weft
