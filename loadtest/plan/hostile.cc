#include "loadtest/plan/hostile.h"

#include <algorithm>
#include <optional>

#include "base/quoted.h"
#include "loadtest/plan/durations.h"
#include "loadtest/plan/key_values.h"
#include "loadtest/plan/lengths.h"
#include "loadtest/plan/numbers.h"

namespace weft {
namespace {

Result<int32_t> ParseTokenCount(std::string_view text) {
  const std::optional<int32_t> count = ParseWhole<int32_t>(text);
  if (count && *count >= 1 && *count <= kMaxLength) return *count;
  return Fail(ErrorCode::kInvalidArgument, "{} is not a number of tokens from 1 to {}",
              Quoted(text), kMaxLength);
}

}  // namespace

Result<HostileMix> ParseHostileMix(std::string_view text) {
  HostileMix mix;
  WEFT_ASSIGN_OR_RETURN(const KeyValues pairs, ParseKeyValues(text));
  for (const auto& [key, value] : pairs) {
    if (key == "cancel") {
      WEFT_ASSIGN_OR_RETURN(mix.cancel, ParseShare(value));
    } else if (key == "stall") {
      WEFT_ASSIGN_OR_RETURN(mix.stall, ParseShare(value));
    } else if (key == "malformed") {
      WEFT_ASSIGN_OR_RETURN(mix.malformed, ParseShare(value));
    } else if (key == "cancel-after") {
      WEFT_ASSIGN_OR_RETURN(mix.cancel_after, ParseTokenCount(value));
    } else if (key == "stall-after") {
      WEFT_ASSIGN_OR_RETURN(mix.stall_after, ParseTokenCount(value));
    } else if (key == "stall-time") {
      WEFT_ASSIGN_OR_RETURN(mix.stall_time, ParseDuration(value));
    } else {
      return Fail(ErrorCode::kInvalidArgument,
                  "there is no {}: expected cancel, stall, malformed, cancel-after, stall-after or "
                  "stall-time",
                  Quoted(key));
    }
  }
  if (mix.cancel + mix.stall + mix.malformed > 1 + 1e-9) {
    return Fail(ErrorCode::kInvalidArgument, "{}: the shares are more than 100% together",
                Quoted(text));
  }
  return mix;
}

void DrawBehaviour(const HostileMix& mix, Random& random, PlannedRequest& request) {
  const double draw = random.Uniform();
  const auto half = static_cast<uint64_t>(std::max(request.max_tokens / 2, 1));
  const auto drawn_tokens = static_cast<int32_t>(1 + random.Below(half));
  if (draw <= mix.cancel) {
    request.behaviour = Behaviour::kCancel;
    request.behaviour_tokens = mix.cancel_after > 0 ? mix.cancel_after : drawn_tokens;
  } else if (draw <= mix.cancel + mix.stall) {
    request.behaviour = Behaviour::kStall;
    request.behaviour_tokens = mix.stall_after > 0 ? mix.stall_after : drawn_tokens;
    request.stall = mix.stall_time;
  } else if (draw <= mix.cancel + mix.stall + mix.malformed) {
    request.behaviour = Behaviour::kMalformed;
  }
}

}  // namespace weft
