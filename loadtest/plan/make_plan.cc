#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "loadtest/plan/conversations.h"
#include "loadtest/plan/plan_options.h"
#include "loadtest/plan/seeds.h"
#include "loadtest/plan/trace_replay.h"

namespace weft {
namespace {

using std::chrono::nanoseconds;

// A plan is kept in memory: about 200 bytes a request.
constexpr int32_t kMaxRequests = 2'000'000;
constexpr int32_t kMaxUsers = 100'000;
// How many requests a closed loop sends in its duration is the server's doing. The list holds more
// than servers answer: a request in 2 ms for each user, and 5000 a second for all of them.
constexpr double kMostRequestsPerUserSecond = 500;
constexpr double kMostRequestsPerSecond = 5000;

template <typename T>
Result<void> CheckRange(const char* option, T value, T least, T most) {
  if (value >= least && value <= most) return {};
  return Fail(ErrorCode::kInvalidArgument, "{}: {} is not between {} and {}", option, value, least,
              most);
}

bool IsClosedLoop(const PlanOptions& options) {
  return options.concurrency || (!options.rate && options.trace.path.empty());
}

Result<void> CheckOptions(const PlanOptions& options) {
  if (options.rate && options.concurrency) {
    return Fail(ErrorCode::kInvalidArgument, "--rate and --concurrency: expected one of them");
  }
  if (!options.rate && (options.arrivals || options.burstiness)) {
    return Fail(ErrorCode::kInvalidArgument,
                "--arrivals and --burstiness are of --rate: expected it beside them");
  }
  if (options.burstiness && options.arrivals && *options.arrivals != ArrivalProcess::kGamma) {
    return Fail(ErrorCode::kInvalidArgument,
                "--burstiness is of gamma arrivals: expected no other --arrivals beside it");
  }
  WEFT_RETURN_IF_ERROR(CheckRange("--rate", options.rate.value_or(1), 1e-6, 1e6));
  WEFT_RETURN_IF_ERROR(CheckRange("--concurrency", options.concurrency.value_or(1), 1, kMaxUsers));
  WEFT_RETURN_IF_ERROR(CheckRange("--burstiness", options.burstiness.value_or(1), 1e-3, 1e6));
  WEFT_RETURN_IF_ERROR(
      CheckRange("--requests", options.request_count.value_or(1), 1, kMaxRequests));
  WEFT_RETURN_IF_ERROR(CheckRange("--max-prompt-tokens", options.max_prompt_tokens, 1, kMaxLength));
  WEFT_RETURN_IF_ERROR(CheckRange("--trace-time-scale", options.trace.time_scale, 1e-9, 1e9));
  WEFT_RETURN_IF_ERROR(CheckRange("--trace-length-scale", options.trace.length_scale, 1e-9, 1e9));
  if (options.vocabulary_size != 0) {
    WEFT_RETURN_IF_ERROR(CheckRange("--vocabulary-size", options.vocabulary_size, 4,
                                    std::numeric_limits<int32_t>::max()));
  }
  if (options.ramp.count() > 0 && !options.rate && !IsClosedLoop(options)) {
    return Fail(ErrorCode::kInvalidArgument,
                "--ramp: --trace has times of its own; expected --rate or --concurrency beside it");
  }
  return {};
}

ArrivalOptions ArrivalOptionsOf(const PlanOptions& options) {
  ArrivalOptions arrivals;
  arrivals.process = options.arrivals.value_or(options.burstiness ? ArrivalProcess::kGamma
                                                                  : ArrivalProcess::kPoisson);
  arrivals.rate = options.rate.value_or(1);
  arrivals.burstiness = options.burstiness.value_or(kDefaultBurstiness);
  arrivals.ramp = options.ramp;
  return arrivals;
}

// Requests leave at the rate that is stated, in a closed loop when users are free, and else when
// they say themselves; nothing: after the end.
class Schedule {
 public:
  explicit Schedule(const PlanOptions& options)
      : arrivals_(ArrivalOptionsOf(options), SeedOf(options.seed, Purpose::kArrivals)),
        duration_(options.duration),
        is_closed_(IsClosedLoop(options)),
        has_rate_(options.rate.has_value()) {}

  std::optional<nanoseconds> Next(nanoseconds own_time) {
    if (is_closed_) return nanoseconds(0);
    const nanoseconds time = has_rate_ ? arrivals_.Next() : own_time;
    if (duration_.count() > 0 && time >= duration_) return std::nullopt;
    return time;
  }

 private:
  Arrivals arrivals_;
  nanoseconds duration_;
  bool is_closed_;
  bool has_rate_;
};

Result<void> PlanTrace(const PlanOptions& options, LoadPlan& plan) {
  plan.profiles = {"trace"};
  const auto limit = static_cast<size_t>(options.request_count.value_or(kMaxRequests + 1));
  WEFT_ASSIGN_OR_RETURN(std::vector<PlannedRequest> requests, ReplayTrace(options, limit, plan));
  Schedule schedule(options);
  for (PlannedRequest& request : requests) {
    const std::optional<nanoseconds> time = schedule.Next(request.send_at);
    if (!time) break;
    request.send_at = *time;
    Random random(SeedOf(options.seed, Purpose::kBehaviours, plan.requests.size()));
    DrawBehaviour(options.hostile, random, request);
    plan.requests.push_back(std::move(request));
  }
  return {};
}

// How many requests the options ask for, unless an open loop's duration ends first.
int64_t RequestLimit(const PlanOptions& options, const Conversations& conversations) {
  if (options.request_count) return *options.request_count;
  if (options.duration.count() == 0) {
    return conversations.distinct_count() > 0 ? conversations.distinct_count()
                                              : kDefaultRequestCount;
  }
  if (options.rate) return kMaxRequests + 1;
  const double users = options.concurrency.value_or(kDefaultConcurrency);
  const double rate = std::min(users * kMostRequestsPerUserSecond, kMostRequestsPerSecond);
  const double seconds = std::chrono::duration<double>(options.duration).count();
  return static_cast<int64_t>(std::min<double>(kMaxRequests, users + rate * seconds));
}

Result<void> PlanConversations(const PlanOptions& options, LoadPlan& plan) {
  WEFT_ASSIGN_OR_RETURN(Conversations conversations, Conversations::Open(options, plan));
  if (!plan.given_prompts.empty()) {
    plan.notes.emplace_back(
        "given prompts are the same in the warm-up and in every run: a prefix cache may know them");
  }
  const int64_t limit = RequestLimit(options, conversations);
  Schedule schedule(options);
  while (static_cast<int64_t>(plan.requests.size()) < limit) {
    const std::optional<nanoseconds> time = schedule.Next(nanoseconds(0));
    if (!time) break;
    conversations.Append(plan, *time, limit - static_cast<int64_t>(plan.requests.size()));
  }
  return {};
}

}  // namespace

Result<LoadPlan> MakePlan(const PlanOptions& options) {
  WEFT_RETURN_IF_ERROR(CheckOptions(options));
  LoadPlan plan;
  if (IsClosedLoop(options)) plan.users = options.concurrency.value_or(kDefaultConcurrency);
  plan.ramp = options.ramp;
  plan.duration = options.duration;
  plan.vocabulary_size = options.vocabulary_size;
  WEFT_RETURN_IF_ERROR(options.trace.path.empty() ? PlanConversations(options, plan)
                                                  : PlanTrace(options, plan));
  if (plan.requests.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "--duration ends before the first request");
  }
  if (plan.requests.size() > kMaxRequests) {
    return Fail(ErrorCode::kResourceExhausted,
                "these options make more than {} requests: expected --requests to end them",
                kMaxRequests);
  }
  return plan;
}

}  // namespace weft
