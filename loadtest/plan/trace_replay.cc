#include "loadtest/plan/trace_replay.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "loadtest/plan/lengths.h"
#include "loadtest/plan/seeds.h"
#include "loadtest/plan/trace.h"

namespace weft {
namespace {

using std::chrono::nanoseconds;

int32_t ScaledLength(double token_count, double scale) {
  return static_cast<int32_t>(
      std::clamp(std::round(token_count * scale), 0.0, static_cast<double>(kMaxLength)));
}

// The borders of the blocks are scaled, not their lengths: block i is as long in every prompt that
// has a full one, so equal blocks stay equal, and the prompt's length is exact.
std::vector<PromptSegment> SegmentsOf(const TraceRequest& request, double scale, uint64_t plan_seed,
                                      uint64_t request_index) {
  const int32_t token_count = std::max(ScaledLength(request.input_tokens, scale), 1);
  std::vector<PromptSegment> segments;
  int32_t begin = 0;
  const auto append = [&](uint64_t seed, int32_t end) {
    if (end > begin) segments.push_back({seed, end - begin});
    begin = std::max(begin, end);
  };
  for (size_t i = 0; i < request.block_hashes.size(); ++i) {
    const double border = static_cast<double>(kTraceBlockTokens) * static_cast<double>(i + 1);
    append(SeedOf(plan_seed, Purpose::kBlocks, request.block_hashes[i]),
           std::min(ScaledLength(border, scale), token_count));
  }
  append(SeedOf(plan_seed, Purpose::kPrompts, request_index), token_count);
  return segments;
}

Result<nanoseconds> ScaledTime(nanoseconds time, double scale) {
  constexpr double kMaxNanoseconds = 9e18;
  const double scaled = std::round(static_cast<double>(time.count()) * scale);
  if (scaled <= kMaxNanoseconds) return nanoseconds(static_cast<int64_t>(scaled));
  return Fail(ErrorCode::kInvalidArgument,
              "--trace-time-scale {}: a request at {} s of the trace would be sent after centuries",
              scale, static_cast<double>(time.count()) / 1e9);
}

}  // namespace

Result<std::vector<PlannedRequest>> ReplayTrace(const PlanOptions& options, size_t limit,
                                                LoadPlan& plan) {
  const TraceOptions& trace = options.trace;
  auto recorded = ReadTrace(trace.path);
  if (!recorded) return Fail(recorded.error().code, "--trace: {}", recorded.error().message);
  std::vector<PlannedRequest> requests;
  int64_t too_long_count = 0;
  for (size_t i = 0; i < recorded->size() && requests.size() < limit; ++i) {
    const TraceRequest& request = (*recorded)[i];
    const nanoseconds since_begin = request.time - trace.begin;
    if (since_begin.count() < 0) continue;
    if (trace.duration.count() > 0 && since_begin >= trace.duration) break;
    if (ScaledLength(request.input_tokens, trace.length_scale) > options.max_prompt_tokens) {
      ++too_long_count;
      continue;
    }
    PlannedRequest planned;
    WEFT_ASSIGN_OR_RETURN(planned.send_at, ScaledTime(since_begin, trace.time_scale));
    planned.segments = SegmentsOf(request, trace.length_scale, options.seed, i);
    planned.max_tokens = std::max(ScaledLength(request.output_tokens, trace.length_scale), 1);
    requests.push_back(std::move(planned));
  }
  if (requests.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: none of its {} requests is in the piece that --trace-begin, --trace-duration "
                "and --max-prompt-tokens leave",
                trace.path, recorded->size());
  }
  if (too_long_count > 0) {
    plan.notes.push_back(fmt::format(
        "{} of the trace's requests are left out: their prompts have more than {} tokens",
        too_long_count, options.max_prompt_tokens));
  }
  return requests;
}

}  // namespace weft
