#include <algorithm>
#include <limits>

#include "loadtest/plan/plan_options.h"

namespace weft {
namespace {

// A plan is kept in memory: about 200 bytes a request.
constexpr int32_t kMaxRequests = 2'000'000;
constexpr int32_t kMaxUsers = 100'000;
// A closed loop's number of requests is the server's doing; a plan by time holds what users would
// send who are answered in 10 ms.
constexpr double kMostRequestsPerUserSecond = 100;

// What the random numbers of a plan are for, each with a seed of its own.
enum class Purpose : uint64_t { kArrivals, kLengths, kPrompts };

uint64_t SeedOf(const PlanOptions& options, Purpose purpose) {
  return MixSeed(options.seed, static_cast<uint64_t>(purpose));
}

template <typename T>
Result<void> CheckRange(const char* option, T value, T least, T most) {
  if (value >= least && value <= most) return {};
  return Fail(ErrorCode::kInvalidArgument, "{}: {} is not between {} and {}", option, value, least,
              most);
}

Result<void> CheckOptions(const PlanOptions& options) {
  if (options.rate && options.concurrency) {
    return Fail(ErrorCode::kInvalidArgument, "--rate and --concurrency: expected one of them");
  }
  WEFT_RETURN_IF_ERROR(CheckRange("--rate", options.rate.value_or(1), 1e-6, 1e6));
  WEFT_RETURN_IF_ERROR(CheckRange("--concurrency", options.concurrency.value_or(1), 1, kMaxUsers));
  WEFT_RETURN_IF_ERROR(CheckRange("--burstiness", options.burstiness.value_or(1), 1e-3, 1e6));
  WEFT_RETURN_IF_ERROR(
      CheckRange("--requests", options.request_count.value_or(1), 1, kMaxRequests));
  if (options.vocabulary_size != 0) {
    WEFT_RETURN_IF_ERROR(CheckRange("--vocabulary-size", options.vocabulary_size, 4,
                                    std::numeric_limits<int32_t>::max()));
  }
  return {};
}

// How many requests the options ask for, unless an open loop's duration ends first.
int32_t RequestLimit(const PlanOptions& options) {
  if (options.request_count) return *options.request_count;
  if (options.duration.count() == 0) return kDefaultRequestCount;
  if (options.rate) return kMaxRequests;
  const double users = options.concurrency.value_or(kDefaultConcurrency);
  const double seconds = std::chrono::duration<double>(options.duration).count();
  return static_cast<int32_t>(
      std::min<double>(kMaxRequests, users * (1 + seconds * kMostRequestsPerUserSecond)));
}

ArrivalOptions ArrivalOptionsOf(const PlanOptions& options) {
  ArrivalOptions arrivals;
  arrivals.process = options.burstiness ? ArrivalProcess::kGamma : options.arrivals;
  arrivals.rate = options.rate.value_or(1);
  arrivals.burstiness = options.burstiness.value_or(kDefaultBurstiness);
  arrivals.ramp = options.ramp;
  return arrivals;
}

}  // namespace

Result<LoadPlan> MakePlan(const PlanOptions& options) {
  WEFT_RETURN_IF_ERROR(CheckOptions(options));
  LoadPlan plan;
  plan.users = options.rate ? 0 : options.concurrency.value_or(kDefaultConcurrency);
  plan.ramp = options.ramp;
  plan.duration = options.duration;
  plan.vocabulary_size = options.vocabulary_size;
  plan.profiles = {options.workload.name};

  Arrivals arrivals(ArrivalOptionsOf(options), SeedOf(options, Purpose::kArrivals));
  const int32_t limit = RequestLimit(options);
  for (int32_t i = 0; i < limit; ++i) {
    PlannedRequest request;
    if (options.rate) {
      request.send_at = arrivals.Next();
      if (options.duration.count() > 0 && request.send_at >= options.duration) break;
    }
    Random random(MixSeed(SeedOf(options, Purpose::kLengths), static_cast<uint64_t>(i)));
    request.segments.push_back(
        {MixSeed(SeedOf(options, Purpose::kPrompts), static_cast<uint64_t>(i)),
         DrawLength(options.workload.prompt_tokens, random)});
    request.max_tokens = DrawLength(options.workload.max_tokens, random);
    plan.requests.push_back(std::move(request));
  }
  if (plan.requests.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "--duration ends before the first request of --rate {}", options.rate.value_or(0));
  }
  return plan;
}

}  // namespace weft
