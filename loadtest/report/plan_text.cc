#include "loadtest/report/plan_text.h"

#include <chrono>
#include <iterator>

#include <fmt/format.h>

#include "loadtest/plan/plan_description.h"
#include "loadtest/report/format.h"

namespace weft {
namespace {

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

// "64", or "12 to 480 (98 on average)".
std::string Lengths(const TokenCounts& counts, int64_t request_count) {
  if (counts.least == counts.greatest) return FormatCount(counts.least);
  return fmt::format("{} to {} ({} on average)", FormatCount(counts.least),
                     FormatCount(counts.greatest),
                     FormatCount(counts.sum / std::max<int64_t>(request_count, 1)));
}

}  // namespace

std::string PlanText(const LoadPlan& plan, const RunOptions& run) {
  const PlanDescription description = DescribePlan(plan);
  const PlanDescription::Part& all = description.all;
  std::string text;
  const auto out = std::back_inserter(text);
  if (plan.users > 0) {
    fmt::format_to(out, "{} user{} at a time", FormatCount(plan.users), plan.users == 1 ? "" : "s");
  } else {
    fmt::format_to(out, "open loop, {} arrivals/s on average over {}",
                   FormatNumber(description.mean_rate), FormatDuration(description.span_s * 1000));
  }
  if (plan.ramp.count() > 0) fmt::format_to(out, ", ramp of {:.4g} s", Seconds(plan.ramp));
  // A closed loop that time ends has a list that is longer than what will be sent.
  if (plan.duration.count() > 0) {
    fmt::format_to(out, "; for {:.4g} s", Seconds(plan.duration));
  } else {
    fmt::format_to(out, "; {} requests", FormatCount(all.request_count));
    if (all.conversation_count < all.request_count) {
      fmt::format_to(out, " in {} conversations", FormatCount(all.conversation_count));
    }
  }
  if (all.prompt_tokens.sum > 0) {
    fmt::format_to(out, "; {} of {} tokens", Generates(run.endpoint) ? "prompts" : "texts",
                   Lengths(all.prompt_tokens, all.request_count));
    if (description.shared_prompt_tokens > 0) {
      const double share = static_cast<double>(description.shared_prompt_tokens) /
                           static_cast<double>(all.prompt_tokens.sum);
      fmt::format_to(out, ", {} of them as in an earlier one", FormatPercent(share));
    }
  } else {
    text += Generates(run.endpoint) ? "; given prompts" : "; given texts";
  }
  if (run.endpoint == Endpoint::kEmbeddings) {
    fmt::format_to(out, "; {} a request for embeddings", FormatCount(TextsPerRequest(run)));
  } else if (run.endpoint == Endpoint::kRerank) {
    fmt::format_to(out, "; {} documents a request, ranked", FormatCount(TextsPerRequest(run)));
  } else {
    fmt::format_to(out, ", answers of at most {}", Lengths(all.max_tokens, all.request_count));
  }
  if (plan.profiles.size() > 1) fmt::format_to(out, "; {} profiles", plan.profiles.size());
  const int64_t hostile =
      description.cancel_count + description.stall_count + description.malformed_count;
  if (hostile > 0) fmt::format_to(out, "; {} hostile", FormatCount(hostile));
  for (const std::string& note : plan.notes) text += "; " + note;
  return text;
}

}  // namespace weft
